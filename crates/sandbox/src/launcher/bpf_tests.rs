use super::*;

/// What the kernel does with a filter, as far as these go.
fn run(program: &[sock_filter], architecture: u32, number: u32, arguments: [u64; 6]) -> u32 {
    let (mut at, mut value) = (0, 0);
    loop {
        let step = program[at];
        let code = u32::from(step.code);
        at += 1;
        match code & 0x07 {
            libc::BPF_LD => {
                value = match step.k {
                    NUMBER => number,
                    ARCHITECTURE => architecture,
                    k => {
                        let argument = arguments[(k as usize - 16) / 8];
                        (if (k - 16) % 8 == 0 {
                            argument
                        } else {
                            argument >> 32
                        }) as u32
                    }
                }
            }
            libc::BPF_ALU => value &= step.k,
            libc::BPF_RET => return step.k,
            libc::BPF_JMP => {
                let holds = match code & 0xf0 {
                    libc::BPF_JA => {
                        at += step.k as usize;
                        continue;
                    }
                    libc::BPF_JEQ => value == step.k,
                    libc::BPF_JGE => value >= step.k,
                    libc::BPF_JSET => value & step.k != 0,
                    other => panic!("{other}"),
                };
                at += usize::from(if holds { step.jt } else { step.jf });
            }
            other => panic!("{other}"),
        }
    }
}

const ALLOW: u32 = libc::SECCOMP_RET_ALLOW;
const NO_CALL: u32 = libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32;
const FORBIDDEN: u32 = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;

#[test]
fn every_call_gets_its_own_verdict() {
    let unless = |cases| Verdict::Unless {
        cases,
        errno: libc::EPERM,
    };
    let calls = [
        (0, Verdict::Allow),
        (1, Verdict::Allow),
        (2, Verdict::Refuse(libc::EPERM)),
        (
            5,
            unless(vec![vec![Condition::HasAny {
                argument: 0,
                bits: 6,
            }]]),
        ),
        (
            6,
            unless(vec![
                vec![Condition::Masked {
                    argument: 1,
                    mask: 0xf,
                    value: 3,
                }],
                vec![
                    Condition::IsNot {
                        argument: 0,
                        value: 1,
                    },
                    Condition::IsNot {
                        argument: 0,
                        value: 2,
                    },
                ],
            ]),
        ),
        (
            7,
            unless(vec![vec![Condition::HasAll {
                argument: 3,
                bits: 5,
            }]]),
        ),
        (400, Verdict::Allow),
    ];
    let program = compile(&calls, &Verdict::Refuse(libc::ENOSYS));
    let high = 1 << 32;
    for (number, arguments, expected) in [
        (0, [0; 6], ALLOW),
        (1, [u64::MAX; 6], ALLOW),
        (2, [0; 6], FORBIDDEN),
        (3, [0; 6], NO_CALL),
        (4, [0; 6], NO_CALL),
        (5, [0; 6], ALLOW),
        (5, [1, 6, 6, 6, 6, 6], ALLOW),
        (5, [2, 0, 0, 0, 0, 0], FORBIDDEN),
        (5, [high | 4, 0, 0, 0, 0, 0], FORBIDDEN),
        (6, [1, 0, 0, 0, 0, 0], ALLOW),
        (6, [2, 0xf0, 0, 0, 0, 0], ALLOW),
        (6, [2, 0xf3, 0, 0, 0, 0], FORBIDDEN),
        (6, [3, 0, 0, 0, 0, 0], FORBIDDEN),
        (6, [high | 3, 0, 0, 0, 0, 0], FORBIDDEN),
        (7, [0, 0, 0, 4, 0, 0], ALLOW),
        (7, [0, 0, 0, 7, 0, 0], FORBIDDEN),
        (8, [0; 6], NO_CALL),
        (399, [0; 6], NO_CALL),
        (400, [0; 6], ALLOW),
        (401, [0; 6], NO_CALL),
        // The third tongue of x86-64: the same architecture, other numbers.
        (0x4000_0000, [0; 6], NO_CALL),
        (u32::MAX, [0; 6], NO_CALL),
    ] {
        let got = run(&program, OWN_ARCHITECTURE, number, arguments);
        assert_eq!(got, expected, "{number} {arguments:x?}");
    }
    let elsewhere = run(&program, 0x4000_0003, 0, [0; 6]);
    assert_eq!(elsewhere, libc::SECCOMP_RET_KILL_PROCESS);
}
