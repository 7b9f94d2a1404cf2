import NIOCore
import NIOPosix
import Synchronization

/// The one lock around the state; a class because a mutex cannot be copied.
final class SandboxStore: Sendable {
    /// What wakes the store.
    private struct Wakeup {
        let dueMs: Int64
        /// What had been skipped when it was set: a skip brings every timer nearer.
        let skippedMs: Int64
        let scheduled: Scheduled<Void>
    }

    /// What the lock guards.
    private struct Guarded {
        var state: SandboxState
        /// Wakes the store for its earliest timer, in sandbox time.
        var wakeup: Wakeup?
        var isClosed = false
    }

    private let guarded: Mutex<Guarded>
    private let posts: AsyncStream<WebhookPost>.Continuation
    private let loop: any EventLoop
    let configuration: SandboxConfiguration

    init(
        configuration: SandboxConfiguration,
        seed: UInt64,
        posts: AsyncStream<WebhookPost>.Continuation
    ) {
        var state = SandboxState(
            configuration: configuration,
            seed: seed,
            machineMs: configuration.nowMs()
        )
        if let webhook = configuration.webhook {
            state.webhooks.append(
                SandboxWebhook(
                    id: state.ids.make("we_"),
                    account: nil,
                    created: state.nowSeconds,
                    url: webhook.url,
                    secret: webhook.secret,
                    events: ["*"],
                    description: "given on the command line",
                    reach: .everything
                )
            )
        }
        guarded = Mutex(Guarded(state: state))
        self.posts = posts
        loop = MultiThreadedEventLoopGroup.singleton.next()
        self.configuration = configuration
    }

    /// Runs one atomic step at the present time, what is due before it, and hands its webhooks on.
    func step<Value: Sendable>(_ body: (inout SandboxState) -> Value) -> Value {
        let machineMs = configuration.nowMs()
        let (value, wanted) = guarded.withLock { guarded in
            guarded.state.arrive(atMachineMs: machineMs)
            let value = body(&guarded.state)
            var wanted: [WebhookPost] = []
            swap(&wanted, &guarded.state.posts)
            setWakeup(&guarded)
            return (value, wanted)
        }
        for post in wanted { posts.yield(post) }
        return value
    }

    /// Ends the timer, so that a stopped sandbox does nothing more.
    func close() {
        guarded.withLock { guarded in
            guarded.isClosed = true
            guarded.wakeup?.scheduled.cancel()
            guarded.wakeup = nil
        }
    }

    /// Only when the earliest timer has changed: most steps set none.
    private func setWakeup(_ guarded: inout Guarded) {
        let time = guarded.state.time
        guard let dueMs = guarded.state.timers.firstDueMs, !guarded.isClosed,
            dueMs != guarded.wakeup?.dueMs || time.skippedMs != guarded.wakeup?.skippedMs
        else { return }
        guarded.wakeup?.scheduled.cancel()
        let waitMs = time.machineMs(for: dueMs - guarded.state.nowMs)
        let scheduled = loop.scheduleTask(in: .milliseconds(waitMs)) { [weak self] () -> Void in
            self?.wake()
        }
        guarded.wakeup = Wakeup(dueMs: dueMs, skippedMs: time.skippedMs, scheduled: scheduled)
    }

    private func wake() {
        guarded.withLock { $0.wakeup = nil }
        step { _ in }
    }
}
