package import PollerIdentity

/// How long a payment may still change, derived from its state.
///
/// | state | the upstream ends it | it is polled | the shop must act |
/// |---|---|---|---|
/// | `awaiting_customer`, `partially_paid` | when its source or its voucher ends | until then; else 30 days | |
/// | `authorised`, and any other while an intent holds money | when the source ceases to be chargeable, or the hold ends | until then; else 30 days | before that |
/// | `processing` | | for as long as its bank may take to answer; 30 days where it answers at once | |
/// | `failed`, `expired` of an intent that may be tried again | | 30 days | |
/// | `paid` and what follows it | | no longer: a hint has it polled while it is reversible | |
/// | `unknown` | | 30 days | |
/// | any other | | no longer | |
///
/// A hold ends when its charge says (`capture_before`), else when its method says (``MethodTraits/hold``). Where the
/// method has two durations, the money is captured before the shorter one ends (``MethodTraits/shortestHold``), and
/// released before the longer one ends. Where neither says it, no end is known: no one is warned, and nothing is
/// captured or cancelled.
///
/// *Source*: the tables of ``MethodTraits`` and `SourceKind.life`; for a source what an operator has said
/// of its method, ``PaymentFacts/sourceLifetime``.
package struct PaymentLifetime: Hashable, Sendable {
    /// The default time for which a payment is polled.
    package static let most = Duration.seconds(30 * 86_400)
    /// The longest duration of a dispute.
    ///
    /// Stripe states 30 to 90 days for the payer's bank; ten more are for the shop's response. *Source*:
    /// <https://docs.stripe.com/issuing/purchases/disputes>.
    package static let dispute = Duration.seconds(100 * 86_400)
    /// The longest duration of a refund that has not succeeded.
    ///
    /// A customer has 45 days to name an account; then Stripe cancels the refund. Fifteen more are for the bank.
    /// *Source*: <https://docs.stripe.com/payments/customer-balance/refunding>.
    package static let refund = Duration.seconds(60 * 86_400)

    /// The latest expiry at the upstream; `nil` if there is none, or it is unknown.
    package let expiresAt: Timestamp?
    /// The end of regular polls; `nil` if it is not polled any more.
    package let endsAt: Timestamp?
    /// The end of the time in which the payer or the bank may take the money back; `nil` without one.
    package let reversibleUntil: Timestamp?
    /// The end of the time in which changes are possible even without polls: while money may arrive, be taken back, or
    /// a dispute or a refund continues; `nil` if no change is expected.
    package let changesUntil: Timestamp?
    /// The times of the warnings that the window to take the money is closing: after half of it, and when a tenth is
    /// left.
    package let warnings: [Timestamp]
    /// The time at which held money is captured, if configured: when a tenth of the hold is left.
    ///
    /// `nil` without a hold of an intent, or if the end of the hold is unknown.
    package let capturesAt: Timestamp?
    /// The time at which held money is released, if configured: when a tenth of the longest possible hold is left.
    ///
    /// A hold that ends earlier releases its money by itself. `nil` like ``capturesAt``.
    package let releasesAt: Timestamp?
    /// The end of the time in which the payer of an intent can pay with a voucher or code, including the bank's time to
    /// report the payment; `nil` without one.
    package let payableUntil: Timestamp?

    /// Derives the life of a payment; `now` is the store's clock.
    package init(_ facts: PaymentFacts, _ payment: Payment, now: Timestamp) {
        let begun = facts.created ?? facts.seenAt ?? now
        // A hold begins when the payer agrees, which may be long after the intent was created.
        let held = facts.charge?.created ?? begun
        let traits = payment.method?.traits ?? .unknown
        // A partly captured hold still holds the rest.
        let isHeld =
            facts.holdsMoney && (payment.state == .authorised || payment.state == .partiallyPaid)
        expiresAt =
            isHeld
            ? facts.holdEnd(payment, \.hold) : Self.expiry(facts, payment.state, traits, now: now)
        payableUntil = isHeld ? nil : Self.payable(facts, payment)
        switch payment.state {
        case .partiallyPaid where isHeld, .authorised: endsAt = expiresAt ?? held + Self.most
        case .awaitingCustomer, .partiallyPaid, .unknown: endsAt = expiresAt ?? begun + Self.most
        case .processing:
            let asked = facts.charge?.created ?? facts.seenAt ?? now
            endsAt = asked + (traits.settles > .zero ? traits.settles : Self.most)
        case .failed, .expired:
            let mayTryAgain = ["requires_payment_method", "requires_source"]
                .contains(facts.status?.description)
            endsAt = mayTryAgain ? begun + Self.most : nil
        case .paid, .cancelled, .refunded, .partiallyRefunded, .disputed, .reversed: endsAt = nil
        }
        reversibleUntil =
            payment.state.wasPaid
            ? traits.reversibleFor.map { (payment.paidAt ?? begun) + $0 } : nil
        switch payment.state {
        case .paid, .refunded, .partiallyRefunded, .disputed, .reversed:
            let decided = payment.undecidedFor.map { (facts.seenAt ?? now) + $0 }
            changesUntil = [reversibleUntil, decided].compactMap(\.self).max()
        case .processing, .authorised: changesUntil = endsAt
        case .partiallyPaid: changesUntil = [endsAt, payableUntil].compactMap(\.self).max()
        case .awaitingCustomer: changesUntil = payableUntil
        case .failed, .expired, .cancelled, .unknown: changesUntil = nil
        }
        // The window of a source begins with the source, that of a hold with its charge.
        let opened = isHeld ? held : begun
        let closes = isHeld ? facts.holdEnd(payment, \.shortestHold) : expiresAt
        if isHeld || payment.state == .authorised, let closes, closes > opened {
            let window = closes - opened
            warnings = [opened + window / 2, opened + window * 9 / 10]
        } else {
            warnings = []
        }
        capturesAt = isHeld && facts.kind == .paymentIntent ? warnings.last : nil
        if let capturesAt, let expiresAt, expiresAt > opened {
            releasesAt = max(capturesAt, opened + (expiresAt - opened) * 9 / 10)
        } else {
            releasesAt = capturesAt
        }
    }

    /// Returns the time of an action on held money, if configured; `nil` for none.
    package func time(of act: DeadlineAct) -> Timestamp? {
        switch act {
        case .capture: capturesAt
        case .release: releasesAt
        case .abandon: nil
        }
    }

    private static func expiry(
        _ facts: PaymentFacts,
        _ state: PaymentState,
        _ traits: MethodTraits,
        now: Timestamp
    ) -> Timestamp? {
        // A reusable source does not expire.
        let source = facts.kind == .source && facts.usage != .reusable ? facts.created : nil
        let life = facts.sourceLifetime ?? traits.sourceLifetime
        switch state {
        case .awaitingCustomer, .partiallyPaid:
            guard facts.kind == .source else { return facts.step.until }
            return source.flatMap { life.end(of: .pending, created: $0, now: now) }
        case .authorised: return source.flatMap { life.end(of: .chargeable, created: $0, now: now) }
        default: return nil
        }
    }

    private static func payable(_ facts: PaymentFacts, _ payment: Payment) -> Timestamp? {
        guard facts.kind == .paymentIntent,
            payment.state == .awaitingCustomer || payment.state == .partiallyPaid,
            let until = facts.step.until
        else { return nil }
        // If several methods are allowed, the intent does not name the chosen one.
        let known = payment.method.flatMap { $0.isKnown ? $0.traits : nil }
        if case .payVoucher = facts.step {
            return until + max(known?.settles ?? .zero, MethodTraits.voucher.settles)
        }
        return until + (known?.settles ?? .zero)
    }
}

extension Payment {
    /// The longest time until its dispute or its unfinished refund is decided; `nil` without one.
    ///
    /// An inquiry may become a dispute.
    package var undecidedFor: Duration? {
        if state == .disputed || reason == .inquiry { return PaymentLifetime.dispute }
        return refund?.isOpen == true ? PaymentLifetime.refund : nil
    }
}

extension PaymentFacts {
    /// Whether money is held that the shop has not captured.
    fileprivate var holdsMoney: Bool {
        kind == .paymentIntent ? status == .requiresCapture : charge?.status == .succeeded
    }

    /// Returns the end of a hold; `nil` if neither the charge nor its method defines it.
    ///
    /// `length` is the duration that counts if only the method is known.
    fileprivate func holdEnd(
        _ payment: Payment,
        _ length: KeyPath<MethodTraits, Duration?>
    ) -> Timestamp? {
        guard let charge else { return nil }
        if let end = charge.captureBefore { return end }
        let method = charge.method ?? payment.method
        guard let created = charge.created, let traits = method?.traits,
            let life = traits[keyPath: length]
        else { return nil }
        return created + life
    }
}

/// The time for which a single-use source keeps a status before the upstream ends it; `nil` for no limit.
///
/// The time at which it became chargeable is unknown; it is at the latest the end of its pending time.
package struct SourceLifetime: Hashable, Sendable {
    package let pending: Duration?
    package let chargeable: Duration?
    /// Whether it ends at 23:45 in China in any case, when the day's books are closed.
    package let endsWithDayInChina: Bool

    package init(pending: Duration?, chargeable: Duration?, endsWithDayInChina: Bool = false) {
        self.pending = pending
        self.chargeable = chargeable
        self.endsWithDayInChina = endsWithDayInChina
    }

    /// Returns the latest time at which a source created then keeps a status; `nil` without a limit.
    package func end(of status: SourceStatus, created: Timestamp, now: Timestamp) -> Timestamp? {
        if status == .pending { return pending.map { created + $0 } }
        guard status == .chargeable, let chargeable else { return nil }
        let end = created + (pending ?? .zero) + chargeable
        return endsWithDayInChina ? min(end, Self.dayInChina(after: now)) : end
    }

    /// Returns the next 23:45 in China, which is 15:45 UTC all year.
    private static func dayInChina(after now: Timestamp) -> Timestamp {
        let day: Int64 = 86_400_000
        let close: Int64 = (15 * 60 + 45) * 60_000
        // The time is within ten thousand years, so the sum does not overflow.
        let today = now.ms / day * day + close
        return Timestamp(ms: today >= now.ms ? today : today + day)
    }
}
