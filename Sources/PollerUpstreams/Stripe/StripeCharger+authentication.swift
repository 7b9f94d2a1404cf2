import Poller
import PollerIdentity
import StripeAPI

// A card whose bank wants to be asked, made into a source that does so.
//
// | answer to making the source | result |
// |---|---|
// | 2xx | `unauthenticated` with it |
// | 401, 403, 409, 429, 5xx, no answer | `postponed`, and the same key again |
// | any other, or no public address to come back to | `unauthenticated` without one |
//
// The key is that of the charge which could not be made, for another thing: of the order and the number of
// the right to charge it, or of the source and the sum (``ChargeOrder/idempotencyKey(of:amount:currency:by:)``).
// So one card makes one such source for an order, whoever asks how often.
// *Source*: <https://docs.stripe.com/sources/three-d-secure>,
// <https://docs.stripe.com/declines/codes>, `authentication_required`.

extension StripeCharger {
    /// The code of a charge that was refused because the customer must confirm it.
    static let unauthenticated = "authentication_required"

    /// Makes the source that the customer confirms at the bank.
    func authenticate(
        _ watch: Watch,
        _ order: ChargeOrder,
        _ card: String,
        _ sum: ChargeOrder.Sum,
        by right: ChargeRight?,
        until end: Duration
    ) async -> ChargeResult {
        guard let publicURL, let client = accounts.client(for: watch.key.account) else {
            return .unauthenticated(nil)
        }
        let account = watch.key.account
        let charge = order.idempotencyKey(
            of: watch.key,
            amount: sum.amount,
            currency: sum.currency,
            by: right
        )
        var params = SourceParams.threeDSecure(
            amount: sum.amount.minorUnits,
            currency: sum.currency,
            returnURL: "\(publicURL)/r" + (account == .main ? "" : "?account=\(account)"),
            card: card
        )
        params.metadata = order.metadata
        do throws(StripeError) {
            let response = try await client.post(
                "/v1/sources",
                form: params.form,
                idempotencyKey: "\(charge):3ds",
                timeout: end - elapsed()
            )
            let made = try response.decode(StripeAPI.Source.self)
            return .unauthenticated(
                SecureTry(
                    key: WatchKey(
                        account: account,
                        source: SourceID(unchecked: made.id),
                        kind: .source
                    ),
                    clientSecret: made.clientSecret.map { secret in
                        Poller.ClientSecret(unchecked: secret.rawValue)
                    },
                    isAsked: made.status == .pending,
                    publicURL: publicURL
                )
            )
        } catch {
            return Self.unmade(error)
        }
    }

    private static func unmade(_ error: StripeError) -> ChargeResult {
        guard !error.isIndeterminate, case .api(let failure) = error, failure.error != nil
        else { return .postponed("\(error)", retryAfter: nil) }
        switch failure.status {
        case 401, 403: return .postponed("\(failure)", retryAfter: refusedPause)
        case 409, 429: return .postponed("\(failure)", retryAfter: nil)
        // An account may be too new for Sources, or the card too old for this.
        default: return .unauthenticated(nil)
        }
    }
}
