import Foundation
package import Poller
import StripeAPI

/// Charges Stripe's sources, each exactly once.
///
/// | answer to the charge | result |
/// |---|---|
/// | 2xx | `made` |
/// | 402 | `declined` |
/// | 400 with a code that asks to try later, 401, 403, 409, 429 | `postponed` |
/// | other 4xx | `made` when a charge of this source exists all the same, else `declined` |
/// | 5xx, an answer nobody understands | `made` when the charge exists, else `indeterminate` |
/// | no answer | `indeterminate` |
///
/// The idempotency key comes from account and source alone, and Stripe keeps it for at least 24 h,
/// longer than a single-use source is chargeable. Where it may have been forgotten (a watch that
/// was started anew, a reusable source, a charge in doubt) the source's charge is looked for first.
/// *Source*: FACTS §2.5, §3.2.
package struct StripeCharger: Charger {
    /// Pages of 100 charges read in search of one; it was made after its source was.
    private static let pagesMax = 5
    /// Codes with which Stripe asks to try again later.
    private static let codesToRepeat: Set<String> = [
        "charge_exceeds_source_limit", "processing_error", "rate_limit", "lock_timeout",
    ]
    /// A key without the permission is mended by a person.
    private static let refusedPause = Duration.seconds(60)

    private let accounts: StripeAccounts
    private let standing: [AccountID: ChargeOrder]

    /// Charges with the credentials of each watch's account.
    ///
    /// `standing` says what is charged for watches of an account that say nothing.
    package init(accounts: StripeAccounts, standing: [AccountID: ChargeOrder] = [:]) {
        self.accounts = accounts
        self.standing = standing
    }

    package func standingOrder(for account: AccountID) -> ChargeOrder? {
        standing[account]
    }

    package func charge(
        _ watch: Watch,
        _ order: ChargeOrder,
        object: RawJSON,
        timeout: Duration
    ) async -> ChargeResult {
        guard let client = accounts.client(for: watch.key.account) else {
            return .postponed("no API key for this account", retryAfter: Self.refusedPause)
        }
        guard let source = Self.source(object) else { return .declined(code: "not_a_source") }
        guard let amount = order.amount ?? source.amount,
            let currency = order.currency ?? source.currency
        else {
            return .declined(code: "amount_missing")
        }
        if let receiver = source.receiver, let received = receiver.amountReceived,
            received < amount
        {
            return .incomplete(received: received, wanted: amount)
        }
        let mayBeForgotten =
            watch.run > 1 || source.usage == .reusable || watch.state.charge == .doubtful
        if mayBeForgotten {
            let found = await find(client, source, timeout: timeout / 2)
            guard case .declined = found else { return found }
        }
        var params = ChargeParams(
            source: source.id,
            amount: amount,
            currency: currency,
            customer: source.customer,
            note: order.note,
            statementDescriptor: order.statementDescriptor,
            metadata: order.metadata
        )
        // What a person finds in the Dashboard, and what tells our charges from others'.
        params.metadata["poller_source"] = source.id
        do throws(StripeError) {
            let response = try await client.post(
                "/v1/charges",
                form: params.form,
                idempotencyKey: ChargeOrder.idempotencyKey(of: watch.key),
                timeout: mayBeForgotten ? timeout / 2 : timeout
            )
            return Self.made(try response.decode(StripeAPI.Charge.self))
        } catch {
            return await result(of: error, client, source, timeout: timeout / 4)
        }
    }

    package func find(_ watch: Watch, object: RawJSON, timeout: Duration) async -> ChargeResult {
        guard let client = accounts.client(for: watch.key.account) else {
            return .postponed("no API key for this account", retryAfter: Self.refusedPause)
        }
        guard let source = Self.source(object) else { return .declined(code: "not_a_source") }
        return await find(client, source, timeout: timeout)
    }

    /// What an error means, when the charges themselves were asked if it leaves a doubt.
    private func result(
        of error: StripeError,
        _ client: StripeClient,
        _ source: StripeAPI.Source,
        timeout: Duration
    ) async -> ChargeResult {
        if error.isIndeterminate {
            if case .transport = error { return .indeterminate("\(error)") }
            let found = await find(client, source, timeout: timeout)
            if case .made = found { return found }
            return .indeterminate("\(error)")
        }
        guard case .api(let failure) = error else { return .postponed("\(error)", retryAfter: nil) }
        let code = failure.error?.code
        let isLater = failure.error?.code.map(Self.codesToRepeat.contains) ?? false
        switch failure.status {
        case 401, 403: return .postponed("\(failure)", retryAfter: Self.refusedPause)
        case 409, 429: return .postponed("\(failure)", retryAfter: nil)
        case 400 where isLater: return .postponed("\(failure)", retryAfter: nil)
        case 402:
            return .declined(code: code ?? "card_declined", reason: failure.error?.declineCode)
        default:
            // The source may be gone because it was charged: by us, or with another key.
            switch await find(client, source, timeout: timeout) {
            case .made(let charge): return .made(charge)
            case .declined: return .declined(code: code ?? "http_\(failure.status)")
            case let unknown: return unknown
            }
        }
    }

    /// Looks for a charge of a source that was not refused, newest first.
    private func find(
        _ client: StripeClient,
        _ source: StripeAPI.Source,
        timeout: Duration
    ) async -> ChargeResult {
        // Half of what is left for each page: together no longer than the timeout.
        var patience = timeout / 2
        var query = [("limit", "100")]
        if let created = source.created { query.append(("created[gte]", "\(created)")) }
        do throws(StripeError) {
            for _ in 0..<Self.pagesMax {
                let response = try await client.get(
                    "/v1/charges",
                    query: query,
                    timeout: patience
                )
                let page = try response.decode(StripeList<StripeAPI.Charge>.self)
                let ours = page.data.first { $0.source?.id == source.id && $0.status != .failed }
                if let ours { return Self.made(ours) }
                guard page.hasMore, let last = page.data.last else { break }
                patience = patience / 2
                query = query.filter { $0.0 != "starting_after" } + [("starting_after", last.id)]
            }
            return .declined(code: "no_charge")
        } catch {
            return .postponed("its charge cannot be looked for: \(error)", retryAfter: nil)
        }
    }

    private static func made(_ charge: StripeAPI.Charge) -> ChargeResult {
        let status: ChargeSeen.Status =
            switch charge.status {
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
        try? JSONDecoder().decode(StripeAPI.Source.self, from: Data(object.description.utf8))
    }
}
