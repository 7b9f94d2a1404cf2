import Synchronization

/// The one lock around the state; a class because a mutex cannot be copied.
final class SandboxStore: Sendable {
    private let state: Mutex<SandboxState>
    private let actions: AsyncStream<SandboxAction>.Continuation
    let configuration: SandboxConfiguration

    init(
        configuration: SandboxConfiguration,
        seed: UInt64,
        actions: AsyncStream<SandboxAction>.Continuation
    ) {
        var state = SandboxState(seed: seed)
        if let webhook = configuration.webhook {
            state.webhooks.append(
                SandboxWebhook(
                    id: state.ids.make("we_"),
                    url: webhook.url,
                    secret: webhook.secret,
                    created: Int(configuration.nowMs() / 1000),
                    events: ["*"],
                    description: "given on the command line",
                    apiVersion: nil,
                    metadata: [:]
                )
            )
        }
        self.state = Mutex(state)
        self.actions = actions
        self.configuration = configuration
    }

    /// Runs one atomic step at the present time and hands its actions on.
    func step<Value: Sendable>(_ body: (inout SandboxState) -> Value) -> Value {
        let nowMs = configuration.nowMs()
        let (value, wanted) = state.withLock { state in
            state.nowMs = nowMs
            let value = body(&state)
            var wanted: [SandboxAction] = []
            swap(&wanted, &state.actions)
            return (value, wanted)
        }
        for action in wanted { actions.yield(action) }
        return value
    }

    /// Does what was put off.
    func settle(_ transition: SandboxAction.Transition) {
        step { state in
            switch transition {
            case .source(let id, let status):
                // Somebody else may have settled it in the meantime.
                if state.sources[id]?.status == "pending" { state.settleSource(id, to: status) }
            case .charge(let id, let succeeds):
                state.settleCharge(id, succeeds: succeeds)
            case .intent(let id):
                if state.intents[id]?.status == "processing" {
                    state.settleIntent(id, to: "succeeded")
                }
            }
        }
    }
}
