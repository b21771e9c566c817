//! Which messages of a chat a run may see: those before the one that it is to write again.

use super::message::Role;

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PrefixFault {
    #[error(
        "there is no answer at the end of the chat that could be written anew: ask for a normal generation"
    )]
    NoAnswer,
}

impl PrefixFault {
    pub const fn reason(self) -> &'static str {
        "agent.swipe_target_invalid"
    }
}

/// How many messages from the first on. `swipe` hides the last answer, which no user's message may follow;
/// `regenerate` hides the last message unless the user wrote it; everything else sees all.
pub fn input_prefix(roles: &[Role], generation_type: &str) -> Result<usize, PrefixFault> {
    match generation_type {
        "swipe" => {
            let last = roles.iter().rposition(|role| *role != Role::System);
            match last.filter(|last| roles.get(*last) == Some(&Role::Assistant)) {
                Some(answer) => Ok(answer),
                None => Err(PrefixFault::NoAnswer),
            }
        }
        "regenerate" => Ok(match roles.last() {
            Some(Role::User) | None => roles.len(),
            Some(_) => roles.len() - 1,
        }),
        _ => Ok(roles.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_again_is_not_seen() {
        const U: Role = Role::User;
        const A: Role = Role::Assistant;
        const S: Role = Role::System;
        for (roles, kind, prefix) in [
            (&[U, A][..], "normal", Ok(2)),
            (&[U, A], "continue", Ok(2)),
            (&[], "normal", Ok(0)),
            (&[U, A], "swipe", Ok(1)),
            (&[A], "swipe", Ok(0)),
            (&[U, A, S], "swipe", Ok(1)),
            (&[A, U], "swipe", Err(PrefixFault::NoAnswer)),
            (&[A, U, S], "swipe", Err(PrefixFault::NoAnswer)),
            (&[S], "swipe", Err(PrefixFault::NoAnswer)),
            (&[], "swipe", Err(PrefixFault::NoAnswer)),
            (&[U, A], "regenerate", Ok(1)),
            (&[U, A, U], "regenerate", Ok(3)),
            (&[U, S], "regenerate", Ok(1)),
            (&[], "regenerate", Ok(0)),
        ] {
            assert_eq!(input_prefix(roles, kind), prefix, "{roles:?} {kind}");
        }
    }
}
