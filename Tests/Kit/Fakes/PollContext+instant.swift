package import Poller
package import PollerIdentity

extension PollContext {
    /// A poll that was due, begun and answered at one instant.
    package init(_ watch: Watch, at now: Timestamp, payments: (any PaymentReader)? = nil) {
        self.init(watch, due: now, polledAt: now, now: now, payments: payments)
    }
}
