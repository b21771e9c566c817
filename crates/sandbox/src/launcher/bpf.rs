//! Seccomp filters that are quick to load: a search tree over the numbers of the calls.
//!
//! The kernel goes through a new filter once for every call there is. A filter that compares one number after the
//! other, as libraries write it, takes that a millisecond a time; this takes a few steps a call.

use libc::sock_filter;

/// What becomes of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict {
    Allow,
    Refuse(i32),
    /// Refused with `errno` if any of the cases fits, else allowed.
    Unless {
        cases: Vec<Case>,
        errno: i32,
    },
}

/// Fits if all of its conditions do.
pub(super) type Case = Vec<Condition>;

/// About the lower half of an argument: that is all the kernel looks at in those that are asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Condition {
    HasAny { argument: u8, bits: u32 },
    HasAll { argument: u8, bits: u32 },
    Masked { argument: u8, mask: u32, value: u32 },
    IsNot { argument: u8, value: u32 },
}

/// `otherwise` for calls that are not listed. A call in the tongue of another architecture ends the process.
pub(super) fn compile(calls: &[(i64, Verdict)], otherwise: &Verdict) -> Vec<sock_filter> {
    let mut calls: Vec<(u32, &Verdict)> = calls
        .iter()
        .filter_map(|(number, verdict)| Some((u32::try_from(*number).ok()?, verdict)))
        .collect();
    calls.sort_by_key(|(number, _)| *number);
    // Each stretch begins here and goes on to the next.
    let mut stretches: Vec<(u32, &Verdict)> = vec![(0, otherwise)];
    let mut begin = |at: u32, verdict| match stretches.last_mut() {
        Some((last, known)) if *last == at => *known = verdict,
        Some((_, known)) if *known == verdict => {}
        _ => stretches.push((at, verdict)),
    };
    for (number, verdict) in calls {
        begin(number, verdict);
        begin(number + 1, otherwise);
    }
    let mut program = vec![
        load(ARCHITECTURE),
        jump(libc::BPF_JEQ, OWN_ARCHITECTURE, 1, 0),
        give(libc::SECCOMP_RET_KILL_PROCESS),
        load(NUMBER),
    ];
    program.extend(tree(&stretches));
    program
}

fn tree(stretches: &[(u32, &Verdict)]) -> Vec<sock_filter> {
    match stretches {
        [] => vec![give(libc::SECCOMP_RET_KILL_PROCESS)],
        [(_, verdict)] => leaf(verdict),
        _ => {
            let (left, right) = stretches.split_at(stretches.len() / 2);
            let middle = right.first().map_or(0, |(start, _)| *start);
            let below = tree(left);
            let mut code = vec![jump(libc::BPF_JGE, middle, 0, 1), skip(below.len())];
            code.extend(below);
            code.extend(tree(right));
            code
        }
    }
}

fn leaf(verdict: &Verdict) -> Vec<sock_filter> {
    match verdict {
        Verdict::Allow => vec![give(libc::SECCOMP_RET_ALLOW)],
        Verdict::Refuse(errno) => vec![refuse(*errno)],
        Verdict::Unless { cases, errno } => {
            let mut code = Vec::new();
            for case in cases {
                // From the end: each condition that does not hold leads behind the case.
                let mut rest = vec![refuse(*errno)];
                for condition in case.iter().rev() {
                    let mut one = test(*condition, rest.len());
                    one.append(&mut rest);
                    rest = one;
                }
                code.extend(rest);
            }
            code.push(give(libc::SECCOMP_RET_ALLOW));
            code
        }
    }
}

/// Goes on if it holds, else over the `rest`.
fn test(condition: Condition, rest: usize) -> Vec<sock_filter> {
    let over = u8::try_from(rest).unwrap_or(u8::MAX);
    match condition {
        Condition::HasAny { argument, bits } => {
            vec![load(low(argument)), jump(libc::BPF_JSET, bits, 0, over)]
        }
        Condition::HasAll { argument, bits } => vec![
            load(low(argument)),
            and(bits),
            jump(libc::BPF_JEQ, bits, 0, over),
        ],
        Condition::Masked {
            argument,
            mask,
            value,
        } => vec![
            load(low(argument)),
            and(mask),
            jump(libc::BPF_JEQ, value, 0, over),
        ],
        Condition::IsNot { argument, value } => {
            vec![load(low(argument)), jump(libc::BPF_JEQ, value, over, 0)]
        }
    }
}

/// Offsets in what the kernel shows a filter: number, architecture, address, six arguments.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;

const fn low(argument: u8) -> u32 {
    let at = 16 + 8 * argument as u32;
    match cfg!(target_endian = "little") {
        true => at,
        false => at + 4,
    }
}

#[cfg(target_arch = "x86_64")]
const OWN_ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const OWN_ARCHITECTURE: u32 = 0xc000_00b7;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
compile_error!("which calls are dangerous is not known for this architecture");

const fn statement(code: u32, k: u32) -> sock_filter {
    sock_filter {
        code: code as u16,
        jt: 0,
        jf: 0,
        k,
    }
}

const fn load(offset: u32) -> sock_filter {
    statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, offset)
}

const fn and(mask: u32) -> sock_filter {
    statement(libc::BPF_ALU | libc::BPF_AND | libc::BPF_K, mask)
}

const fn give(answer: u32) -> sock_filter {
    statement(libc::BPF_RET | libc::BPF_K, answer)
}

const fn refuse(errno: i32) -> sock_filter {
    give(libc::SECCOMP_RET_ERRNO | (errno.cast_unsigned() & libc::SECCOMP_RET_DATA))
}

const fn skip(instructions: usize) -> sock_filter {
    statement(libc::BPF_JMP | libc::BPF_JA, instructions as u32)
}

const fn jump(comparison: u32, k: u32, holds: u8, fails: u8) -> sock_filter {
    sock_filter {
        code: (libc::BPF_JMP | comparison | libc::BPF_K) as u16,
        jt: holds,
        jf: fails,
        k,
    }
}

#[cfg(test)]
#[path = "bpf_tests.rs"]
mod tests;
