package import Poller
package import PollerIdentity
package import PollerWatches

extension PollContext {
    /// Creates a poll that was due, started and answered at the same time.
    package init(_ watch: Watch, at now: Timestamp, payments: (any PaymentReader)? = nil) {
        self.init(watch, due: now, polledAt: now, now: now, payments: payments)
    }
}
