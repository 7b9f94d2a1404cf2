import Poller
import PollerIdentity
import PollerPayments
import PollerWatches
import StripeAPI

/// Searches for the charges of an instruction.
extension StripeCharger {
    /// Returns a search for a charge by this instruction that has not failed.
    ///
    /// For a single-use source any charge matches, because there can be only one. While an earlier attempt is in doubt,
    /// its charge matches although the instruction has changed since.
    static func search(
        _ source: StripeAPI.Source,
        _ watch: Watch,
        _ instruction: ChargeInstruction,
        _ sum: ChargeInstruction.Sum
    ) -> ChargeSearch {
        let isSingleUse = source.usage == .singleUse
        let isDoubtful = watch.state.charge == .doubtful
        let id = source.id
        return ChargeSearch(
            // A search for fewer charges must not be continued.
            name: name(watch, instruction, sum) + (isDoubtful ? ":doubtful" : ""),
            customer: source.customer,
            created: source.created
        ) { charge in
            guard charge.source?.id == id, charge.status != .failed else { return false }
            return isSingleUse || isOf(watch, instruction, sum, charge)
                || (isDoubtful && isAttempt(of: watch, charge))
        }
    }

    /// Returns a search for the charge of an attempt in doubt whose source is still chargeable; `nil` for other watches.
    ///
    /// Only a charge with our mark matches. Another attempt may have charged the same card for the order, for example
    /// by the shop's intent. If that charge counted twice, the order's only payment would be refunded as a duplicate.
    static func attempt(of source: StripeAPI.Source, _ watch: Watch) -> ChargeSearch? {
        guard watch.state.charge == .doubtful, source.status == .chargeable,
            let instruction = watch.charge, let sum = instruction.sum(of: source)
        else { return nil }
        let wider = search(source, watch, instruction, sum)
        return ChargeSearch(
            // The wider search must not be continued where this one has stopped.
            name: wider.name + ":marked",
            customer: wider.customer,
            created: wider.created
        ) { charge in
            charge.metadata?[mark] != nil && wider.isWanted(charge)
        }
    }

    /// The tolerance for a Stripe clock that is behind the store's clock, as a negative duration.
    private static let clockTolerance = Duration.seconds(-60)

    /// Returns a search for the charge that paid a source, even if the shop created it.
    ///
    /// | source | matching charge |
    /// |---|---|
    /// | single use | its only charge |
    /// | reusable, without a customer | its only charge, which has consumed it |
    /// | reusable, with a customer | a charge that names the order of the watch, or one created since the watch began, with its amount if known |
    ///
    /// A charge that names another order never matches. The charge may have failed since. A customer's source is
    /// charged repeatedly, and its older charges belong to other orders. Detaching it consumes it, too. Then the
    /// source shows no customer any more, but its charges do.
    /// *Source*: <https://docs.stripe.com/sources/customers>.
    static func payment(of source: StripeAPI.Source, _ watch: Watch) -> ChargeSearch {
        let id = source.id
        let began = watch.isUnchangedSinceReopen ? watch.state.lastPolledAt : nil
        let since = (began ?? watch.createdAt) + clockTolerance
        let isNamed = watch.order != nil || watch.charge != nil
        let isKept = source.usage != .singleUse && source.customer != nil
        let earliest = isKept && !isNamed ? Int(clamping: since.ms / 1000) : source.created
        return ChargeSearch(
            name: "paid:\(watch.key.account):\(id):\(watch.run)"
                + (watch.order.map { ":\($0)" } ?? ""),
            customer: source.customer,
            created: earliest
        ) { charge in
            guard charge.source?.id == id || charge.paymentMethod == id else { return false }
            if source.usage == .singleUse { return true }
            if let order = watch.order, let named = charge.metadata?[purpose] {
                return named == "\(order)"
            }
            if source.customer == nil, charge.customer == nil { return true }
            if let instruction = watch.charge, let sum = instruction.sum(of: source),
                isOf(watch, instruction, sum, charge)
            {
                return true
            }
            let amount = watch.charge?.amount?.minorUnits ?? source.amount
            return Int64(clamping: charge.created ?? 0) >= since.ms / 1000
                && (amount == nil || charge.amount == amount)
        }
    }

    /// Returns the name of a search, which is different for two instructions with the same contents.
    private static func name(
        _ watch: Watch,
        _ instruction: ChargeInstruction,
        _ sum: ChargeInstruction.Sum
    ) -> String {
        let content = instruction.idempotencyKey(
            of: watch.key,
            amount: sum.amount,
            currency: sum.currency
        )
        return content + (watch.order.map { ":\($0)" } ?? "")
    }

    /// Whether a charge of the same source was made by this run of its only watch.
    ///
    /// Its amount and metadata do not matter: the account's default may have changed since, or a request with another
    /// instruction may have joined. There is no tolerance for clocks, because an earlier run may have made its own
    /// charge seconds before. So the charge may not be found if the store's clock is ahead of Stripe's.
    private static func isAttempt(of watch: Watch, _ charge: StripeAPI.Charge) -> Bool {
        guard let metadata = charge.metadata, metadata[mark] != nil else { return false }
        if let order = watch.order, let named = metadata[purpose], named != "\(order)" {
            return false
        }
        return Int64(clamping: charge.created ?? 0) >= watch.createdAt.ms / 1000
    }

    /// Whether a charge of the same source belongs to this instruction.
    ///
    /// It does if the amount and the metadata are equal and this product created it, or the instruction has metadata of
    /// its own.
    ///
    /// A charge that names another order never belongs to this one. A charge with the same amount that names this
    /// order belongs to it, even if the shop created it.
    private static func isOf(
        _ watch: Watch,
        _ instruction: ChargeInstruction,
        _ sum: ChargeInstruction.Sum,
        _ charge: StripeAPI.Charge
    ) -> Bool {
        var metadata = charge.metadata ?? [:]
        var wanted = instruction.metadata
        let isOurs = metadata.removeValue(forKey: mark) != nil
        // The shop may have set the same metadata itself.
        let metadataName = wanted.removeValue(forKey: purpose)
        let name = watch.order?.description ?? metadataName
        let named = metadata.removeValue(forKey: purpose)
        // A charge without an order name may still be for this order. Not charging is better than charging twice.
        if let named, let name, named != name { return false }
        let isNamed = named != nil && named == name
        if isNamed, charge.amount == sum.amount.minorUnits, charge.currency == sum.currency {
            return true
        }
        return charge.amount == sum.amount.minorUnits && charge.currency == sum.currency
            && metadata == wanted && (isOurs || !instruction.metadata.isEmpty)
    }
}

extension ChargeSearch {
    /// Returns the charge, or `nil` if it was not found or the search did not reach the end.
    func found(
        _ client: StripeClient,
        until end: Duration,
        _ elapsed: @Sendable () -> Duration,
        _ positions: ChargeSearchPositions
    ) async -> ChargeResult? {
        guard case .found(let charge) = await run(client, until: end, elapsed, positions) else {
            return nil
        }
        return StripeCharger.made(charge)
    }
}
