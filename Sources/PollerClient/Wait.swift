public import PollerWire

/// What to wait for.
public enum WaitGoal: Hashable, Sendable {
    /// A status that cannot change any more.
    case final
    /// The customer has done what had to be done: any status of a source but `pending`, and of an
    /// intent `requires_capture` or its end.
    case leftPending
    /// This status, whatever its case, now or at some moment of the watch's current run.
    case status(String)
    /// This is true of the money, now or at some moment of the watch's current run.
    ///
    /// Where nobody knows of a payment, as with upstreams of one's own, a status of that name is meant.
    case payment(Payment.State)

    /// Whether a watch or an event that says this is what is waited for.
    fileprivate func isMet(by status: String?, _ payment: Payment?) -> Bool {
        switch self {
        case .status(let wanted): status?.lowercased() == wanted.lowercased()
        case .payment(let wanted):
            payment.map { $0.state == Open(wanted) } ?? (status == wanted.rawValue)
        case .final, .leftPending: false
        }
    }
}

/// How a wait ended.
public enum WaitResult: Hashable, Sendable {
    /// The goal was reached.
    case reached(Received<Watch>)
    /// The watch is closed and the goal can no longer be reached.
    case closed(Received<Watch>)
    /// The time is up.
    case timedOut(Received<Watch>)
}

extension PollerClient {
    /// Waits until a watch reaches a status or can no longer reach it.
    ///
    /// Transient failures after the first answer are waited out while there is time.
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
                // Shorter than the idle timeouts of usual proxies, never shorter than a ms.
                let wait = max(min(rest, .seconds(30)), .milliseconds(1))
                if let news = try await self.watch(name, after: watch.seq, wait: wait) {
                    watch = news
                }
                backoff.reset()
            } catch let error as PollerError where error.isTransient {
                guard clock.now < end else { return .timedOut(watch) }
                try await backoff.sleep(atLeast: error.retryAfter.map { min($0, end - clock.now) })
            }
        }
    }

    /// What came and went between two reads is in the history.
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
    /// Whether the last status seen is past what a customer has to do.
    fileprivate var hasLeftPending: Bool {
        switch kind.known {
        case .source, .charge: status != nil && status != "pending"
        case .paymentIntent: isFinal || status == "requires_capture"
        default: isFinal
        }
    }
}
