//! What an agent of a run needs at hand: its tools, its workspace, its skills, and the log of the run that it belongs to.

use std::sync::{Arc, Weak};

use innkeeper_protocol::Pattern;
use innkeeper_protocol::event::InvocationId;
use innkeeper_tools::{Caller, FoundTools, ProjectId, Reach, RunOptions, UserId};
use tokio_util::sync::CancellationToken;

use super::compact::KeptDropped;
use super::deliberate::Conversation;
use super::drive::{AgentInstance, Gone};
use super::live::Live;
use super::log::RunLog;
use super::meter::{AgentMeter, RunMeter};
use super::offer_told::Telling;
use super::runtime::Shared;
use super::speak::Spoken;
use crate::chat::ChatView;
use crate::profile::AgentProfile;
use crate::run::{AgentRun, Created};
use crate::skills::SkillDesk;
use crate::state::StateDesk;
use crate::workspace::state::WorkspaceState;
use crate::workspace::{RunDoor, WorkspacePlan, WorkspaceSession};

/// Who sits where.
struct Seat {
    created: Arc<Created>,
    state: WorkspaceState,
    skill_chars: u64,
    /// Under which the run knows it.
    invocation: InvocationId,
    is_child: bool,
    /// Its private state is among the run's files.
    shares_state: bool,
    cancel: CancellationToken,
    live: Live,
    chat: Option<Arc<ChatView>>,
    meter: Arc<RunMeter>,
    is_recovered: bool,
}

impl Seat {
    fn of(run: &AgentRun, cancel: CancellationToken) -> Self {
        Self {
            created: run.created().clone(),
            state: run.workspace().clone(),
            skill_chars: run.left().skill_chars,
            invocation: run.invocation().clone(),
            is_child: run.owes_return(),
            shares_state: false,
            cancel,
            live: Live::new(),
            chat: None,
            meter: Arc::default(),
            is_recovered: false,
        }
    }
}

impl Shared {
    /// All that a run needs to go on.
    pub(super) fn instance(
        self: &Arc<Self>,
        run: AgentRun,
        last_seq: u64,
        chat: Option<ChatView>,
        is_recovered: bool,
    ) -> Arc<AgentInstance> {
        let cancel = self.closing.child_token();
        let seat = Seat {
            chat: chat.map(Arc::new),
            is_recovered,
            ..Seat::of(&run, cancel.clone())
        };
        let (journal, clock) = (self.journal.clone(), self.parts.clock.clone());
        self.seated(seat, |session| {
            RunLog::new(run, last_seq, journal, clock, cancel, session.clone())
        })
    }

    fn seated(
        self: &Arc<Self>,
        seat: Seat,
        log: impl FnOnce(&Arc<WorkspaceSession>) -> RunLog,
    ) -> Arc<AgentInstance> {
        let created = seat.created;
        let profile = &created.profile;
        let reach = match seat.is_child {
            false => profile.reach(),
            true => reach_of_child(profile),
        };
        let caller = Caller {
            user: UserId::try_from(created.user.as_str()).unwrap_or_default(),
            project: ProjectId::try_from(created.project.as_str()).unwrap_or_default(),
            invocation: seat.is_child.then(|| seat.invocation.clone()),
            ..Caller::agent(profile.id.as_str(), created.run_id.clone(), reach)
        };
        let skills = Arc::new(SkillDesk::new(
            self.skills.clone(),
            created.skills.clone(),
            profile.skills.clone(),
            seat.skill_chars,
        ));
        let states = StateDesk::new(&created, self.worlds.clone(), self.parts.clock.clone());
        let states = Arc::new(states);
        let meter = Arc::new(AgentMeter {
            run: seat.meter,
            agent: seat.invocation.clone(),
        });
        Arc::new_cyclic(|own: &Weak<AgentInstance>| {
            let door: Weak<dyn RunDoor> = own.clone();
            let session = Arc::new(WorkspaceSession::new(
                created.run_id.clone(),
                WorkspacePlan::of(profile),
                seat.state,
                self.contents.clone(),
                door,
            ));
            // Calls are counted by the run itself, over restarts too.
            let options = RunOptions {
                cancel: seat.cancel.child_token(),
                spill: Some(session.clone()),
                // The next request declares what was found.
                found: FoundTools::Named,
                meter: Some(meter.clone()),
                ..RunOptions::default()
            };
            AgentInstance {
                tools: self.parts.tools.begin(caller, options),
                log: log(&session),
                session,
                invocation: seat.invocation,
                is_child: seat.is_child,
                shares_state: seat.shares_state,
                live: seat.live,
                telling: Telling::default(),
                conversation: Conversation::default(),
                dropped: KeptDropped::default(),
                meter,
                spoken: Spoken::default(),
                descriptions: profile.tools.tool_descriptions.clone(),
                shared: self.clone(),
                cancel: seat.cancel,
                chat: seat.chat,
                skills,
                states,
                is_recovered: seat.is_recovered,
            }
        })
    }
}

impl AgentInstance {
    /// For an agent that works for this one. Nothing of a run that has no such agent.
    pub(super) async fn child(&self, invocation: &InvocationId) -> Result<Option<Arc<Self>>, Gone> {
        let cancel = self.cancel.child_token();
        let seat = self.log.read(|run| {
            let child = run.of_invocation(invocation);
            child.owes_return().then(|| Seat {
                shares_state: run.keeps_state_of(invocation),
                ..Seat::of(child, cancel)
            })
        });
        let Some(seat) = seat.await? else {
            return Ok(None);
        };
        let seat = Seat {
            chat: self.chat.clone(),
            meter: self.meter.run.clone(),
            is_recovered: self.is_recovered,
            ..seat
        };
        let invocation = invocation.clone();
        Ok(Some(self.shared.seated(seat, |session| {
            self.log.of(invocation, session.clone())
        })))
    }

    /// For the agent that this one has handed the run to; nothing where it has not.
    pub(super) async fn successor(&self) -> Option<Arc<Self>> {
        if self.log.fault().is_some() || self.shared.closing.is_cancelled() {
            return None;
        }
        let cancel = self.cancel.clone();
        let seat = self.log.read(|run| {
            let is_handed_over = *run.invocation() != self.invocation && !run.is_over();
            is_handed_over.then(|| Seat::of(run, cancel))
        });
        let seat = Seat {
            chat: self.chat.clone(),
            meter: self.meter.run.clone(),
            live: self.live.clone(),
            ..seat.await.ok()??
        };
        let log = self.log.clone();
        Some(self.shared.seated(seat, |session| {
            log.seat(session.clone());
            log
        }))
    }
}

/// All that its profile offers, and the way to give its result.
fn reach_of_child(profile: &AgentProfile) -> Reach {
    let mut reach = profile.reach();
    let task_return = Pattern::new("task.return");
    reach.deny.retain(|denied| *denied != task_return);
    reach.allow.push(task_return);
    reach
}
