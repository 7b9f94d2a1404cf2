package import Logging
package import PollerWatches

/// The actions that follow a poll of a payment.
package enum PaymentFollowUps {
    /// Returns the charge, the refund and the deadline action, in the order in which they are tried.
    ///
    /// The charge is first, because the refund needs the ID of the charge that was made or found. A postponed refund
    /// replaces the result of the charge, and the next poll finds the same charge again. The deadline action is last,
    /// because it must not capture or release the rest of a payment that is refunded as a duplicate: after a refund
    /// with any result, it waits for another poll.
    package static func inOrder(
        charger: any Charger,
        settler: any Settler,
        orders: OrderService,
        threeDSecureWatcher: ThreeDSecureWatcher? = nil,
        logger: Logger
    ) -> [any FollowUp] {
        [
            ChargeFollowUp(charger, orders: orders, threeDSecureWatcher: threeDSecureWatcher),
            RefundFollowUp(charger, orders: orders, logger: logger),
            DeadlineFollowUp(settler, orders: orders, logger: logger),
        ]
    }
}
