/// The retention times.
package struct RetentionSpans: Hashable, Sendable {
    /// The retention of outbox entries, for live clients that reconnect with an old cursor.
    package let outbox: Duration
    /// The retention of event bodies (``Event/withoutBody``) after their watch has closed, and of the attempts of
    /// successful deliveries.
    ///
    /// At least ``deliveryMax``, so that the last attempt of a schedule sends whole events. The default also covers the
    /// five days after which an unavailable endpoint is disabled.
    package let bodies: Duration
    /// The retention of closed watches with their log, and of resting deliveries with their cursor.
    ///
    /// Both are kept for ``deliveryMax`` in addition, and a delivery also as long as the log. At least ``deliveryMax``.
    package let closed: Duration
    /// The longest retention of closed watches with refundable payments.
    ///
    /// They are kept without their log while the money may come back, counted from their last poll, so that a dispute
    /// or a return is noticed. Zero: they are deleted like the others.
    package let refundableRetention: Duration

    /// The actual retention of bodies: readers of the outbox find them for as long as there is an entry.
    package var bodiesAtLeast: Duration { max(bodies, outbox) }

    /// The default, half a year, which covers nearly all returned payments.
    package static let refundableRetentionStandard = Duration.seconds(180 * 86_400)

    /// The default, a week.
    package static let bodiesStandard = Duration.seconds(7 * 86_400)

    /// The default: a day of outbox, a week of bodies and thirty days of history.
    package static let standard = RetentionSpans(
        outbox: .seconds(86_400),
        closed: .seconds(2_592_000)
    )

    /// The longest time from the first attempt of a delivery to the last, with jitter.
    ///
    /// The schedule of webhooks takes at most 91 h, and a custom one is limited to this.
    package static let deliveryMax = Duration.seconds(4 * 86_400)

    /// Creates retention times.
    package init(
        outbox: Duration,
        bodies: Duration = bodiesStandard,
        closed: Duration,
        refundableRetention: Duration = refundableRetentionStandard
    ) {
        self.outbox = outbox
        self.bodies = bodies
        self.closed = closed
        self.refundableRetention = refundableRetention
    }
}
