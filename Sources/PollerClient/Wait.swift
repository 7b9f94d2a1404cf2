public import PollerWire

/// The goal of a wait.
public enum WaitGoal: Hashable, Sendable {
    /// A status that cannot change any more.
    case final
    /// The customer has completed the required action.
    ///
    /// It means any status of a source but `pending`, and for an intent `requires_capture` or a final status.
    case leftPending
    /// This status, in any letter case, now or at any time in the watch's current run.
    case status(String)
    /// This payment state, now or at any time in the watch's current run.
    ///
    /// If the upstream provides no payment, as configured HTTP upstreams may, a status with that name counts.
    case payment(Payment.State)

    /// Whether a watch or an event with these values meets the goal.
    fileprivate func isMet(by status: String?, _ payment: Payment?) -> Bool {
        switch self {
        case .status(let wanted): status?.lowercased() == wanted.lowercased()
        case .payment(let wanted):
            payment.map { $0.state == Open(wanted) } ?? (status == wanted.rawValue)
        case .final, .leftPending: false
        }
    }
}

/// The result of a wait.
public enum WaitResult: Hashable, Sendable {
    /// The goal was reached.
    case reached(Received<Watch>)
    /// The watch is closed and the goal can no longer be reached.
    case closed(Received<Watch>)
    /// The timeout has expired.
    case timedOut(Received<Watch>)
}

extension PollerClient {
    /// Waits until a watch reaches a status or can no longer reach it.
    ///
    /// Transient failures after the first response are retried until the timeout.
    public func wait(
        for name: WatchName,
        until goal: WaitGoal,
        timeout: Duration
    ) async throws -> WaitResult {
        let clock = ContinuousClock()
        let end = clock.now + timeout
        var watch = try await watch(name)
        var seenSeq = 0
        var backoff = Backoff()
        while true {
            do {
                if try await isReached(goal, watch, name, after: seenSeq) { return .reached(watch) }
                seenSeq = watch.seq
                if !watch.isOpen { return .closed(watch) }
                let rest = end - clock.now
                guard rest > .zero else { return .timedOut(watch) }
                // Shorter than the idle timeouts of usual proxies, and at least 1 ms.
                let wait = max(min(rest, .seconds(30)), .milliseconds(1))
                if let newer = try await self.watch(name, after: watch.seq, wait: wait) {
                    watch = newer
                }
                backoff.reset()
            } catch let error as PollerError where error.isTransient {
                guard clock.now < end else { return .timedOut(watch) }
                try await backoff.sleep(atLeast: error.retryAfter.map { min($0, end - clock.now) })
            }
        }
    }

    /// Checks the history too, because a status may come and go between two reads.
    private func isReached(
        _ goal: WaitGoal,
        _ watch: Received<Watch>,
        _ name: WatchName,
        after seq: Int
    ) async throws -> Bool {
        switch goal {
        case .final: return watch.isFinal
        case .leftPending: return watch.value.hasLeftPending
        case .status, .payment: break
        }
        if goal.isMet(by: watch.status, watch.payment) { return true }
        guard watch.seq > seq else { return false }
        var seq = seq
        while true {
            let page = try await events(of: name, after: seq)
            let isSeen = page.items.contains { event in
                event.run == watch.run && goal.isMet(by: event.status, event.payment)
            }
            if isSeen { return true }
            guard page.hasMore, let last = page.items.last else { return false }
            seq = last.seq
        }
    }
}

extension Watch {
    /// Whether the last observed status is past the customer's action.
    fileprivate var hasLeftPending: Bool {
        switch kind.known {
        case .source, .charge: status != nil && status != "pending"
        case .paymentIntent: isFinal || status == "requires_capture"
        default: isFinal
        }
    }
}
