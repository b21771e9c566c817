//! Which limit a program ran into, by its own words.
//!
//! Some limits only refuse: the program is told by an error number and says so, or not. The kernel keeps no count of
//! these refusals. So where a program has failed and no limit is known from elsewhere, the last words of its stderr
//! are looked through for the system's names of those errors. Whoever lies there only gets a wrong name.

use crate::Limit;

/// How much of the end is looked at.
const LAST_WORDS: usize = 4096;

pub(crate) fn by_words(stderr: &[u8]) -> Option<Limit> {
    let start = stderr.len().saturating_sub(LAST_WORDS);
    let words = String::from_utf8_lossy(stderr.get(start..).unwrap_or_default());
    let says = |any: &[&str]| any.iter().any(|word| words.contains(word));
    if says(&["Too many open files", "too many open files", "EMFILE"]) {
        return Some(Limit::OpenFiles);
    }
    if says(&[
        "File too large",
        "file too large",
        "File size limit exceeded",
        "EFBIG",
    ]) {
        return Some(Limit::FileSize);
    }
    if says(&[
        "No space left on device",
        "no space left on device",
        "ENOSPC",
    ]) {
        return Some(Limit::Disk);
    }
    let refused = says(&["Resource temporarily unavailable", "EAGAIN"]);
    if says(&["can't start new thread"]) || refused && says(&["fork", "spawn", "clone", "thread"]) {
        return Some(Limit::Processes);
    }
    let no_memory = [
        "MemoryError",
        "Cannot allocate memory",
        "cannot allocate memory",
        "heap out of memory",
        "Array buffer allocation failed",
        "ENOMEM",
    ];
    says(&no_memory).then_some(Limit::Memory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_known_by_their_names() {
        for (words, limit) in [
            (
                "OSError: [Errno 24] Too many open files: 'x'",
                Some(Limit::OpenFiles),
            ),
            (
                "Error: EMFILE: too many open files, open 'x'",
                Some(Limit::OpenFiles),
            ),
            ("OSError: [Errno 27] File too large", Some(Limit::FileSize)),
            ("Error: EFBIG: file too large, write", Some(Limit::FileSize)),
            (
                "OSError: [Errno 28] No space left on device",
                Some(Limit::Disk),
            ),
            (
                "    pid = os.fork()\nBlockingIOError: [Errno 11] Resource temporarily unavailable",
                Some(Limit::Processes),
            ),
            (
                "main.sh: fork: retry: Resource temporarily unavailable",
                Some(Limit::Processes),
            ),
            ("Error: spawn sh EAGAIN", Some(Limit::Processes)),
            (
                "RuntimeError: can't start new thread",
                Some(Limit::Processes),
            ),
            (
                "BlockingIOError: [Errno 11] Resource temporarily unavailable",
                None,
            ),
            ("MemoryError", Some(Limit::Memory)),
            (
                "FATAL ERROR: … JavaScript heap out of memory",
                Some(Limit::Memory),
            ),
            ("ValueError: wrong", None),
            ("", None),
        ] {
            assert_eq!(by_words(words.as_bytes()), limit, "{words}");
        }
    }

    #[test]
    fn only_the_last_words_count() {
        let mut said = b"Too many open files\n".to_vec();
        said.extend([b'.'; LAST_WORDS]);
        assert_eq!(by_words(&said), None);
    }
}
