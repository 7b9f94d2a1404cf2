import Foundation
package import JSONText
package import Poller
package import PollerIdentity
import StripeAPI

/// Charges Stripe's sources, each exactly once for an order.
///
/// | answer to the charge | result |
/// |---|---|
/// | 2xx | `made` |
/// | 402 | `declined` |
/// | 400 with a code that asks to try later, 401, 403, 409, 429 | `postponed` |
/// | 4xx without Stripe's own error, a source or an amount that cannot be read | `postponed` |
/// | 400, for the key was used with other parameters | `made` when the charge exists, else `indeterminate`; for an order's key `postponed`, because it is another source's |
/// | other 4xx | `made` when a charge of this source exists all the same, else `declined` |
/// | 5xx, an answer nobody understands | `made` when the charge exists, else `indeterminate` |
/// | no answer | `indeterminate` |
/// | a card that needs 3D Secure, or was declined for want of it | `unauthenticated`: a source is made that does it |
///
/// Two things keep a source from being charged twice. A source that is used up by its charge is no
/// longer chargeable, and Stripe refuses it: so it is with single-use sources, whoever charges them.
/// A reusable one stays chargeable. It is protected by the order's idempotency key for as long as
/// Stripe keeps that, at least 24 h, and beyond by a search: before it is charged, its customer's
/// charges are looked through for one of the same order (``isOf(_:_:_:_:)``). A search that has not
/// seen the end says so, and the charge is put off (``ChargeSearch``).
/// *Source*: <https://docs.stripe.com/api/idempotent_requests>,
/// <https://docs.stripe.com/sources/best-practices>; see <doc:0024-orders>.
package struct StripeCharger: Charger {
    /// Codes with which Stripe asks to try again later.
    private static let codesToRepeat: Set<String> = [
        "charge_exceeds_source_limit", "processing_error", "rate_limit", "lock_timeout",
    ]
    /// A key without the permission is mended by a person.
    static let refusedPause = Duration.seconds(60)
    /// So is an order that says no amount.
    private static let unclearPause = Duration.seconds(3600)
    /// What tells our charges from others', and a person in the Dashboard what they are for.
    static let mark = "poller_source"
    /// The order that a charge is for, where the watch names one.
    static let purpose = "poller_order"
    /// Entries of metadata that Stripe takes.
    ///
    /// *Source*: <https://docs.stripe.com/api/metadata>.
    private static let entriesMax = 50

    private(set) var accounts: StripeAccounts
    private var standing: [AccountID: ChargeOrder]
    private(set) var refunding: Set<AccountID>
    /// Where customers reach us; nil when they do not.
    let publicURL: String?
    let elapsed: @Sendable () -> Duration
    private let marks = ChargeSearchMarks()

    /// Charges with the credentials of each watch's account.
    ///
    /// `standing` says what is charged for watches of an account that say nothing; `refunding` which
    /// accounts want duplicates refunded; `publicURL` where customers come back to; `elapsed` tells a span that only grows, by which requests share the time there is.
    package init(
        accounts: StripeAccounts,
        standing: [AccountID: ChargeOrder] = [:],
        refundingDuplicatesOf refunding: Set<AccountID> = [],
        publicURL: String? = nil,
        elapsed: @escaping @Sendable () -> Duration
    ) {
        self.accounts = accounts
        self.standing = standing
        self.refunding = refunding
        self.publicURL = publicURL
        self.elapsed = elapsed
    }

    /// The same charger with other credentials and orders, which knows what was searched already.
    package func charging(
        as accounts: StripeAccounts,
        standing: [AccountID: ChargeOrder],
        refundingDuplicatesOf refunding: Set<AccountID>
    ) -> Self {
        var other = self
        other.accounts = accounts
        other.standing = standing
        other.refunding = refunding
        return other
    }

    package func standingOrder(for account: AccountID) -> ChargeOrder? {
        standing[account]
    }

    package func charge(
        _ watch: Watch,
        _ order: ChargeOrder,
        by right: ChargeRight?,
        object: RawJSON,
        timeout: Duration
    ) async -> ChargeResult {
        let end = elapsed() + timeout
        guard let client = accounts.client(for: watch.key.account) else {
            return .postponed("no API key for this account", retryAfter: Self.refusedPause)
        }
        guard let source = Self.source(object) else { return Self.unreadable }
        guard let sum = order.sum(of: source) else {
            return .postponed(
                "neither the order nor the source says an amount and a currency: enqueue it again "
                    + "with both",
                retryAfter: Self.unclearPause
            )
        }
        if let receiver = source.receiver,
            let received = receiver.amountReceived.map({ Amount(clamping: $0) }),
            received < sum.amount
        {
            return .incomplete(received: received, wanted: sum.amount)
        }
        if source.needsAuthentication {
            // A charge of it is declined, and counts against the card: the source that 3D Secure is done
            // with is charged in its place.
            return await authenticate(watch, order, source.id, sum, by: right, until: end)
        }
        if source.usage != .singleUse {
            let search = Self.search(source, watch, order, sum)
            switch await search.run(client, until: elapsed() + timeout / 2, elapsed, marks) {
            // One that was refunded since was made all the same: its money says so itself.
            case .found(let charge): return Self.made(charge)
            case .unknown(let why): return Self.unsearched(why)
            case .nothing: break
            }
        }
        var params = ChargeParams(
            source: source.id,
            amount: sum.amount.minorUnits,
            currency: sum.currency,
            customer: source.customer,
            note: order.note,
            statementDescriptor: order.statementDescriptor,
            metadata: order.metadata
        )
        params.metadata[Self.mark] = source.id
        // An order with no room left for it says itself what it is.
        if let name = watch.order, params.metadata.count < Self.entriesMax {
            params.metadata[Self.purpose] = "\(name)"
        }
        params.additionalAPIParameters = order.sharing?.parameters ?? [:]
        do throws(StripeError) {
            let response = try await client.post(
                "/v1/charges",
                form: params.form,
                idempotencyKey: order.idempotencyKey(
                    of: watch.key,
                    amount: sum.amount,
                    currency: sum.currency,
                    by: right
                ),
                // A quarter is left for what an error asks to be looked for.
                timeout: (end - elapsed()) * 3 / 4
            )
            let charge = try response.decode(StripeAPI.Charge.self)
            guard response.headers.idempotentReplayed else { return Self.made(charge) }
            return await asItIs(charge.id, client, until: end)
        } catch {
            let search = Self.search(source, watch, order, sum)
            let answer = await result(of: error, client, search, by: right, until: end)
            guard source.type == .card, case .declined(let code, let reason) = answer,
                code == Self.unauthenticated || reason == Self.unauthenticated
            else { return answer }
            return await authenticate(watch, order, source.id, sum, by: right, until: end)
        }
    }

    package func find(_ watch: Watch, object: RawJSON, timeout: Duration) async -> ChargeResult {
        let end = elapsed() + timeout
        guard let client = accounts.client(for: watch.key.account) else {
            return .postponed("no API key for this account", retryAfter: Self.refusedPause)
        }
        guard let source = Self.source(object) else { return Self.unreadable }
        let search = Self.payment(of: source, watch)
        switch await search.run(client, until: end, elapsed, marks) {
        case .found(let charge): return Self.made(charge)
        case .nothing: return .declined(code: "no_charge")
        case .unknown(let why): return Self.unsearched(why)
        }
    }

    /// A charge that was made before, as it is now.
    ///
    /// What Stripe answers once more to the same key is what was true when it answered first: the bank may
    /// have refused the charge since, or the money may have gone back.
    private func asItIs(
        _ charge: String,
        _ client: StripeClient,
        until end: Duration
    ) async -> ChargeResult {
        do throws(StripeError) {
            let reply = try await client.get(
                "/v1/charges/\(charge)",
                query: [("expand[]", "refunds")],
                timeout: end - elapsed()
            )
            return Self.made(try reply.decode(StripeAPI.Charge.self))
        } catch {
            return .indeterminate("\(charge) was made, and cannot be looked at: \(error)")
        }
    }

    /// What an error means, when the charges themselves were asked if it leaves a doubt.
    private func result(
        of error: StripeError,
        _ client: StripeClient,
        _ search: ChargeSearch,
        by right: ChargeRight?,
        until end: Duration
    ) async -> ChargeResult {
        if error.isIndeterminate {
            if case .transport = error { return .indeterminate("\(error)") }
            return await search.found(client, until: end, elapsed, marks)
                ?? .indeterminate("\(error)")
        }
        guard case .api(let failure) = error, let told = failure.error else {
            return .postponed("\(error)", retryAfter: nil)
        }
        let isLater = told.code.map(Self.codesToRepeat.contains) ?? false
        switch failure.status {
        case 401, 403: return .postponed("\(failure)", retryAfter: Self.refusedPause)
        case 409, 429: return .postponed("\(failure)", retryAfter: nil)
        case 400 where isLater: return .postponed("\(failure)", retryAfter: nil)
        case 400 where told.type == .idempotencyError && right != nil:
            // Another source was charged for the order, or this one with another text for people.
            let reason = "the order was charged before: \(failure)"
            return await search.found(client, until: end, elapsed, marks)
                ?? .postponed(reason, retryAfter: nil)
        case 400 where told.type == .idempotencyError:
            // The key stands for an earlier try with another description: that may have got through.
            return await search.found(client, until: end, elapsed, marks)
                ?? .indeterminate("\(failure)")
        case 402:
            return .declined(code: told.code ?? "card_declined", reason: told.declineCode)
        default:
            // The source may be gone because it was charged: by us, or with another key.
            switch await search.run(client, until: end, elapsed, marks) {
            case .found(let charge): return Self.made(charge)
            case .nothing: return .declined(code: told.code ?? "http_\(failure.status)")
            case .unknown(let why): return Self.unsearched(why)
            }
        }
    }

    private static let unreadable = ChargeResult.postponed(
        "the source cannot be read as one",
        retryAfter: nil
    )

    private static func unsearched(_ why: String) -> ChargeResult {
        .postponed("its charge is still looked for: \(why)", retryAfter: nil)
    }

    static func made(_ charge: StripeAPI.Charge) -> ChargeResult {
        let status: ChargeSeen.Status =
            switch charge.status {
            // One that contradicts itself is not answered yet.
            case .succeeded where charge.paid == false: .pending
            case .succeeded: .succeeded
            case .failed: .failed
            default: .pending
            }
        // What was decoded encodes.
        let object = (try? JSONEncoder().encode(charge)).map {
            RawJSON(unchecked: String(decoding: $0, as: UTF8.self))
        }
        return .made(
            ChargeSeen(id: ChargeID(unchecked: charge.id), status: status, object: object)
        )
    }

    private static func source(_ object: RawJSON) -> StripeAPI.Source? {
        // An answer that passed as an observation may still be no source we could charge.
        try? StripeJSON.decode(StripeAPI.Source.self, from: object.utf8)
    }
}

extension ChargeOrder {
    /// What an order comes to.
    struct Sum {
        let amount: Amount
        let currency: String
    }

    /// The order's own, or else the source's; nil when neither says both.
    func sum(of source: StripeAPI.Source) -> Sum? {
        guard let amount = amount ?? source.amount.flatMap({ Amount(positive: $0) }),
            let currency = currency ?? source.currency
        else { return nil }
        return Sum(amount: amount, currency: currency)
    }
}

extension ChargeSharing {
    /// The parameters of a charge.
    fileprivate var parameters: [String: JSONValue] {
        var parameters: [String: JSONValue] = [:]
        if let feeAmount {
            parameters["application_fee_amount"] = .integer(Int64(clamping: feeAmount.minorUnits))
        }
        if let onBehalfOf { parameters["on_behalf_of"] = .string(onBehalfOf) }
        if let transfer {
            var members: [String: JSONValue] = ["destination": .string(transfer.destination)]
            if let amount = transfer.amount {
                members["amount"] = .integer(Int64(clamping: amount.minorUnits))
            }
            parameters["transfer_data"] = .object(members)
        }
        return parameters
    }
}
