//! The examples of the ACTION protocol, as whole runs: what the model is sent next.

use innkeeper_protocol::event::RunStatus;

use super::harness::{House, check_journal};

const PLAYER: &str = "I'll try to get the player's name.
<ACTION>
    <GetPlayerInfo>
        <playerId>player123</playerId>
    </GetPlayerInfo>
</ACTION>";

#[tokio::test]
async fn a_simple_call_is_answered_in_the_next_turn() {
    let house = House::new().await;
    house.profile("teller", "action");
    house.script.say(
        "Okay, I need to check the current weather to answer the player's question.
<ACTION>
    <ReadWorldStateTool>
        <path>environment.weather.current_conditions</path>
        <default_value>unknown</default_value>
    </ReadWorldStateTool>
</ACTION>",
    );
    house
        .script
        .say("The weather is currently sunny and pleasant.");
    let (handle, events) = house.run("teller", "How is the weather?").await;
    assert_eq!(handle.status, RunStatus::Completed);
    check_journal(&events);
    let request = house.script.request(1);
    let roles: Vec<&str> = request
        .iter()
        .map(|message| message["role"].as_str().unwrap())
        .collect();
    assert_eq!(roles, ["system", "user", "assistant", "user"]);
    assert_eq!(request[1]["content"], "How is the weather?");
    assert_eq!(
        house.script.last_message(1),
        "Observation: Tool ReadWorldStateTool executed successfully. Result: sunny"
    );
}

#[tokio::test]
async fn nested_arguments_arrive_as_they_were_meant() {
    let house = House::new().await;
    house.profile("reader", "action");
    house.script.say(
        "I need to read both the main application file and the utility functions to understand the context.
<ACTION>
    <read_file>
        <args>
            <file>
                <path>src/app.ts</path>
            </file>
            <file>
                <path>src/utils.ts</path>
            </file>
        </args>
    </read_file>
</ACTION>",
    );
    house.script.say("I have read both.");
    house.run("reader", "Read them").await;
    assert_eq!(
        house.script.last_message(1),
        "Observation: Tool read_file executed successfully. Result: [{\"path\":\"src/app.ts\"},{\"path\":\"src/utils.ts\"}]"
    );
}

#[tokio::test]
async fn a_wrong_name_is_told_and_mended() {
    let house = House::new().await;
    house.profile("teller", "action");
    house.script.say(PLAYER);
    house.script.say(&PLAYER.replace("playerId", "player_id"));
    house.script.say("It is Ann.");
    let (handle, events) = house.run("teller", "Who is player123?").await;
    assert_eq!(handle.status, RunStatus::Completed);
    check_journal(&events);
    assert_eq!(
        house.script.last_message(1),
        "Observation: Error - Invalid parameters for GetPlayerInfo: Unknown parameter 'playerId', did you mean 'player_id'?"
    );
    assert_eq!(
        house.script.last_message(2),
        "Observation: Tool GetPlayerInfo executed successfully. Result: player123 is Ann"
    );
    assert_eq!(house.script.requests(), 3);
}
