import NIOCore
import NIOPosix
import Synchronization

/// The single lock around the state; a class because a mutex cannot be copied.
final class SandboxStore: Sendable {
    /// The scheduled wake-up of the store.
    private struct Wakeup {
        let dueMs: Int64
        /// The skipped time when it was scheduled; skipping makes every timer due earlier.
        let skippedMs: Int64
        let scheduled: Scheduled<Void>
    }

    /// The state guarded by the lock.
    private struct Guarded {
        var state: SandboxState
        /// The wake-up for the earliest timer, in sandbox time.
        var wakeup: Wakeup?
        var isClosed = false
    }

    private let guarded: Mutex<Guarded>
    private let posts: AsyncStream<WebhookPost>.Continuation
    /// Signalled after changes; it may have no listener.
    private let changed: AsyncStream<Void>.Continuation
    private let loop: any EventLoop
    let configuration: SandboxConfiguration

    init(
        configuration: SandboxConfiguration,
        savedState: SandboxState?,
        seed: UInt64,
        posts: AsyncStream<WebhookPost>.Continuation,
        changed: AsyncStream<Void>.Continuation
    ) {
        let machineMs = configuration.nowMs()
        var state =
            savedState
            ?? SandboxState(configuration: configuration, seed: seed, machineMs: machineMs)
        state.setConfiguredWebhook(configuration.webhook)
        if savedState != nil {
            // A kill loses the latest changes, so their IDs must not be created again.
            state.ids.skip(UInt64(bitPattern: machineMs))
            state.start(configuration, machineMs: machineMs)
        }
        guarded = Mutex(Guarded(state: state))
        self.posts = posts
        self.changed = changed
        loop = MultiThreadedEventLoopGroup.singleton.next()
        self.configuration = configuration
        // Timers that became due while the sandbox was stopped fire without waiting for a request.
        if savedState != nil { step(isReading: true) { _ in } }
    }

    /// A copy of the whole state.
    var state: SandboxState { guarded.withLock { $0.state } }

    /// Reads the current state, after the timers that are due.
    func read<Value: Sendable>(_ body: (SandboxState) -> Value) -> Value {
        step(isReading: true) { body($0) }
    }

    /// Runs one atomic step at the current time, after the timers that are due, and sends its webhooks.
    ///
    /// `isReading`: the step itself changes nothing that is saved.
    func step<Value: Sendable>(
        isReading: Bool = false,
        _ body: (inout SandboxState) -> Value
    ) -> Value {
        let machineMs = configuration.nowMs()
        let (value, newPosts, isChanged) = guarded.withLock { guarded in
            let before = guarded.state.changes
            guarded.state.advance(toMachineMs: machineMs)
            let value = body(&guarded.state)
            if !isReading { guarded.state.changes += 1 }
            var newPosts: [WebhookPost] = []
            swap(&newPosts, &guarded.state.posts)
            setWakeup(&guarded)
            return (value, newPosts, guarded.state.changes != before)
        }
        if isChanged { changed.yield() }
        for post in newPosts { posts.yield(post) }
        return value
    }

    /// Cancels the wake-up, so that a stopped sandbox does nothing more.
    func close() {
        guarded.withLock { guarded in
            guarded.isClosed = true
            guarded.wakeup?.scheduled.cancel()
            guarded.wakeup = nil
        }
    }

    /// Schedules the wake-up when the earliest timer has changed; most steps set no timer.
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
        step(isReading: true) { _ in }
    }
}

extension SandboxState {
    private static let configuredDescription = "given on the command line"

    /// Sets the endpoint of the command line, which replaces that of the previous start; `nil` removes it.
    fileprivate mutating func setConfiguredWebhook(_ webhook: SandboxConfiguration.Webhook?) {
        let index = webhooks.firstIndex { $0.description == Self.configuredDescription }
        switch (index, webhook) {
        case (nil, nil): break
        case (let index?, nil): webhooks.remove(at: index)
        case (let index?, let webhook?):
            webhooks[index].url = webhook.url
            webhooks[index].secret = webhook.secret
        case (nil, let webhook?):
            webhooks.append(
                SandboxWebhook(
                    id: ids.make("we_"),
                    account: nil,
                    created: nowSeconds,
                    url: webhook.url,
                    secret: webhook.secret,
                    events: ["*"],
                    description: Self.configuredDescription,
                    reach: .everything
                )
            )
        }
    }
}
