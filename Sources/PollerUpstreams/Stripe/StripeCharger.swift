import Foundation
package import JSONText
package import Poller
package import PollerIdentity
package import PollerPayments
package import PollerWatches
import StripeAPI

/// Charges Stripe sources exactly once per order.
///
/// | response to the charge | result |
/// |---|---|
/// | 2xx | `made` |
/// | 402 | `declined` |
/// | 400 with a code for a temporary error, 401, 403, 409, 429 | `postponed` |
/// | 4xx without Stripe's error object, an unreadable source or amount | `postponed` |
/// | 400, because the key was used with other parameters | `made` if the charge exists, else `indeterminate`; for an order's key `postponed`, because another source used it |
/// | other 4xx | `made` if a charge of this source exists anyway, else `declined` |
/// | 5xx, a response that cannot be parsed | `made` if the charge exists, else `indeterminate` |
/// | no response | `indeterminate` |
/// | a card that requires 3D Secure, or was declined without it | `unauthenticated`, with a 3D Secure source |
///
/// A `postponed` charge was certainly not made if no request was sent, or after a 401, a 403 or a rate limit, which
/// Stripe checks before it executes a request (<https://docs.stripe.com/error-low-level>). After a lock or a key in
/// use, another request may be in progress.
///
/// Two mechanisms prevent a duplicate charge of a source. A charge consumes a single-use source, and Stripe rejects
/// further charges, even by the shop. A reusable source stays chargeable. The instruction's idempotency key protects it
/// for at least 24 h, as long as Stripe keeps keys. After that a search protects it: before the charge, the customer's
/// charges are searched for one by the same instruction (``isOf(_:_:_:_:)``). If the search does not reach the end, the
/// charge is postponed (``ChargeSearch``). The list of charges may lag behind a charge by seconds. So while an attempt
/// with another key is in doubt, the source is charged only after ``listLag``.
/// *Source*: <https://docs.stripe.com/api/idempotent_requests>,
/// <https://docs.stripe.com/sources/best-practices>; see <doc:0024-orders>.
package struct StripeCharger: Charger {
    /// The codes of temporary errors, after which the charge is retried.
    private static let codesToRepeat: Set<String> = [
        "charge_exceeds_source_limit", "processing_error", "rate_limit", "lock_timeout",
    ]
    /// The pause after a missing key permission, which an operator must add.
    static let refusedPause = Duration.seconds(60)
    /// The pause after an instruction without an amount, whose watch must be cancelled and enqueued again.
    ///
    /// A request that joins the open watch does not change its instruction.
    private static let unclearPause = Duration.seconds(3600)
    /// The metadata key of this product's charges, whose value is the source.
    ///
    /// It distinguishes them from other charges, and shows their source in the Dashboard.
    static let mark = "poller_source"
    /// The metadata key for the order of a charge, if the watch has one.
    static let purpose = "poller_order"
    /// The time in which a charge may be missing from the list of charges; a generous assumption.
    private static let listLag = Duration.seconds(60)
    /// The longest wait before the list is read again.
    private static let listPause = Duration.seconds(10)
    /// The maximum number of metadata entries.
    ///
    /// *Source*: <https://docs.stripe.com/api/metadata>.
    private static let entriesMax = 50

    private(set) var accounts: StripeAccounts
    private var defaults: [AccountID: ChargeInstruction]
    private(set) var refunding: Set<AccountID>
    /// The public address for customers, or `nil` if there is none.
    let publicURL: String?
    let elapsed: @Sendable () -> Duration
    private let positions = ChargeSearchPositions()

    /// Creates a charger that uses the credentials of each watch's account.
    ///
    /// `defaults` is the default instruction of an account's watches. `refunding` lists the accounts whose duplicate
    /// payments are refunded. `publicURL` is the address to which customers return. `elapsed` returns a monotonic
    /// duration that requests use to share the timeout.
    package init(
        accounts: StripeAccounts,
        defaults: [AccountID: ChargeInstruction] = [:],
        refundingDuplicatesOf refunding: Set<AccountID> = [],
        publicURL: String? = nil,
        elapsed: @escaping @Sendable () -> Duration
    ) {
        self.accounts = accounts
        self.defaults = defaults
        self.refunding = refunding
        self.publicURL = publicURL
        self.elapsed = elapsed
    }

    /// Returns a copy with other credentials and instructions that keeps the positions of unfinished searches.
    package func reconfigured(
        as accounts: StripeAccounts,
        defaults: [AccountID: ChargeInstruction],
        refundingDuplicatesOf refunding: Set<AccountID>
    ) -> Self {
        var other = self
        other.accounts = accounts
        other.defaults = defaults
        other.refunding = refunding
        return other
    }

    package func defaultCharge(for account: AccountID) -> ChargeInstruction? {
        defaults[account]
    }

    package func obstacle(to instruction: ChargeInstruction, object: RawJSON) -> ChargeResult? {
        guard let source = Self.source(object) else { return Self.unreadable }
        guard let sum = instruction.sum(of: source) else { return Self.unclear }
        return Self.shortfall(of: source, sum)
    }

    package func charge(
        _ watch: Watch,
        _ instruction: ChargeInstruction,
        by right: ChargeRight?,
        object: RawJSON,
        timeout: Duration
    ) async -> ChargeResult {
        let end = elapsed() + timeout
        guard let client = accounts.client(for: watch.key.account) else {
            let reason = "no API key for this account"
            return .postponed(reason, retryAfter: Self.refusedPause, isCertain: true)
        }
        guard let source = Self.source(object) else { return Self.unreadable }
        guard let sum = instruction.sum(of: source) else { return Self.unclear }
        if let shortfall = Self.shortfall(of: source, sum) { return shortfall }
        if source.needsAuthentication {
            // A charge of this source would be declined and count against the card. The 3D Secure source is charged
            // instead.
            return await authenticate(
                watch,
                instruction,
                source.id,
                sum,
                by: right,
                isDeclined: false,
                until: end
            )
        }
        let key = instruction.idempotencyKey(
            of: watch.key,
            amount: sum.amount,
            currency: sum.currency,
            by: right
        )
        let attempt = String(key.suffix(6))
        if source.usage != .singleUse {
            let search = Self.search(source, watch, instruction, sum)
            switch await search.run(client, until: elapsed() + timeout / 2, elapsed, positions) {
            // A charge that was refunded since counts as made, because its own object shows the refund.
            case .found(let charge): return Self.made(charge)
            case .unknown(let why): return Self.searchFailure(why, isCertain: true)
            case .nothing:
                if let pause = waitForList(watch, attempt) {
                    let reason = "the charge of an attempt with another key may not be listed yet"
                    return .postponed(reason, retryAfter: pause)
                }
            }
        }
        var params = ChargeParams(
            source: source.id,
            amount: sum.amount.minorUnits,
            currency: sum.currency,
            customer: source.customer,
            note: instruction.note,
            statementDescriptor: instruction.statementDescriptor,
            metadata: instruction.metadata
        )
        params.metadata[Self.mark] = source.id
        // An instruction with the maximum number of entries must identify itself by its own metadata.
        if let name = watch.order, params.metadata.count < Self.entriesMax {
            params.metadata[Self.purpose] = "\(name)"
        }
        params.additionalAPIParameters = instruction.sharing?.parameters ?? [:]
        do throws(StripeError) {
            let response = try await client.post(
                "/v1/charges",
                form: params.form,
                idempotencyKey: key,
                // A quarter of the time remains for the search that an error may require.
                timeout: (end - elapsed()) * 3 / 4
            )
            let charge = try response.decode(StripeAPI.Charge.self)
            guard response.headers.idempotentReplayed else { return Self.made(charge) }
            return await currentState(charge.id, client, until: end).naming(attempt)
        } catch {
            let search = Self.search(source, watch, instruction, sum)
            let answer = await result(of: error, client, search, by: right, until: end)
                .naming(attempt)
            guard source.type == .card, case .declined(let code, let reason) = answer,
                code == Self.unauthenticated || reason == Self.unauthenticated
            else { return answer }
            return await authenticate(
                watch,
                instruction,
                source.id,
                sum,
                by: right,
                isDeclined: true,
                until: end
            )
        }
    }

    /// Returns the wait before a source is charged although another attempt is in doubt; `nil` to charge it now.
    ///
    /// Each process counts ``listLag`` from its first search that has found nothing.
    private func waitForList(_ watch: Watch, _ attempt: String) -> Duration? {
        let earlier = watch.state.chargeAttempt
        guard !earlier.isEmpty, earlier != attempt else { return nil }
        let name = "replaced:\(watch.key.account):\(watch.key.source):\(earlier):\(attempt)"
        let left = Self.listLag - positions.age(of: name, at: elapsed())
        return left > .zero ? min(left, Self.listPause) : nil
    }

    package func find(_ watch: Watch, object: RawJSON, timeout: Duration) async -> ChargeResult {
        let end = elapsed() + timeout
        guard let client = accounts.client(for: watch.key.account) else {
            return .postponed("no API key for this account", retryAfter: Self.refusedPause)
        }
        guard let source = Self.source(object) else { return Self.unreadable }
        let search = Self.attempt(of: source, watch) ?? Self.payment(of: source, watch)
        switch await search.run(client, until: end, elapsed, positions) {
        case .found(let charge): return Self.made(charge)
        case .nothing: return .declined(code: "no_charge")
        case .unknown(let why): return Self.searchFailure(why)
        }
    }

    /// Returns the current state of a charge that already existed.
    ///
    /// Stripe's response to a repeated idempotency key is the original response. The bank may have declined the
    /// charge since, or the money may have been refunded.
    private func currentState(
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
            return .indeterminate("\(charge) was created but cannot be read: \(error)")
        }
    }

    /// Returns the result of an error, after searching the charges if the outcome is in doubt.
    private func result(
        of error: StripeError,
        _ client: StripeClient,
        _ search: ChargeSearch,
        by right: ChargeRight?,
        until end: Duration
    ) async -> ChargeResult {
        if error.isIndeterminate {
            if case .transport = error { return .indeterminate("\(error)") }
            return await search.found(client, until: end, elapsed, positions)
                ?? .indeterminate("\(error)")
        }
        guard case .api(let failure) = error, let errorBody = failure.error else {
            return .postponed("\(error)", retryAfter: nil)
        }
        let isLater = errorBody.code.map(Self.codesToRepeat.contains) ?? false
        switch failure.status {
        case 401, 403:
            return .postponed("\(failure)", retryAfter: Self.refusedPause, isCertain: true)
        case 409, 429:
            let isCertain = errorBody.code == "rate_limit"
            return .postponed("\(failure)", retryAfter: nil, isCertain: isCertain)
        case 400 where isLater: return .postponed("\(failure)", retryAfter: nil)
        case 400 where errorBody.type == .idempotencyError && right != nil:
            // Another source was charged for the order, or this one with another description.
            let reason = "the order was charged before: \(failure)"
            return await search.found(client, until: end, elapsed, positions)
                ?? .postponed(reason, retryAfter: nil)
        case 400 where errorBody.type == .idempotencyError:
            // The key belongs to an earlier attempt with another description, which may have succeeded.
            return await search.found(client, until: end, elapsed, positions)
                ?? .indeterminate("\(failure)")
        case 402:
            return .declined(code: errorBody.code ?? "card_declined", reason: errorBody.declineCode)
        default:
            // The source may be gone because it was charged by this product or with another key.
            switch await search.run(client, until: end, elapsed, positions) {
            case .found(let charge): return Self.made(charge)
            case .nothing: return .declined(code: errorBody.code ?? "http_\(failure.status)")
            case .unknown(let why): return Self.searchFailure(why)
            }
        }
    }

    private static let unreadable = ChargeResult.postponed(
        "the source cannot be read as one",
        retryAfter: nil
    )

    private static let unclear = ChargeResult.postponed(
        "neither the order nor the source has an amount and a currency: cancel the watch and "
            + "enqueue it again with both",
        retryAfter: unclearPause
    )

    /// Returns `incomplete` if a receiver has received less than the sum; `nil` if a source can be charged.
    private static func shortfall(
        of source: StripeAPI.Source,
        _ sum: ChargeInstruction.Sum
    ) -> ChargeResult? {
        guard let receiver = source.receiver,
            let received = receiver.amountReceived.map({ Amount(clamping: $0) }),
            received < sum.amount
        else { return nil }
        return .incomplete(received: received, wanted: sum.amount)
    }

    private static func searchFailure(_ why: String, isCertain: Bool = false) -> ChargeResult {
        let reason = "the search for its charge continues: \(why)"
        return .postponed(reason, retryAfter: nil, isCertain: isCertain)
    }

    static func made(_ charge: StripeAPI.Charge) -> ChargeResult {
        let status: ObservedCharge.Status =
            switch charge.status {
            // A charge that contradicts itself is not final yet.
            case .succeeded where charge.paid == false: .pending
            case .succeeded: .succeeded
            case .failed: .failed
            default: .pending
            }
        // A decoded value can always be encoded.
        let object = (try? JSONEncoder().encode(charge)).map {
            RawJSON(unchecked: String(decoding: $0, as: UTF8.self))
        }
        return .made(
            ObservedCharge(id: ChargeID(unchecked: charge.id), status: status, object: object)
        )
    }

    private static func source(_ object: RawJSON) -> StripeAPI.Source? {
        // A response that was accepted as an observation may still not be a chargeable source.
        try? StripeJSON.decode(StripeAPI.Source.self, from: object.utf8)
    }
}

extension ChargeResult {
    /// Returns the result with the attempt, if it is in doubt.
    fileprivate func naming(_ attempt: String) -> ChargeResult {
        guard case .indeterminate(let reason, _) = self else { return self }
        return .indeterminate(reason, attempt: attempt)
    }
}

extension ChargeInstruction {
    /// The amount and currency of an instruction.
    struct Sum {
        let amount: Amount
        let currency: String
    }

    /// Returns the amount and currency of the instruction, or else of the source.
    ///
    /// Returns `nil` if an amount or a currency is missing from both.
    func sum(of source: StripeAPI.Source) -> Sum? {
        guard let amount = amount ?? source.amount.flatMap({ Amount(positive: $0) }),
            let currency = currency ?? source.currency
        else { return nil }
        return Sum(amount: amount, currency: currency)
    }
}

extension ChargeSharing {
    /// The charge parameters for fees and transfers.
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
