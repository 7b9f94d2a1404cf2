import Poller
import PollerIdentity
import PollerPayments
import PollerWatches
import StripeAPI

// Creates a 3D Secure source for a card whose bank requires authentication.
//
// | response to creating the source | result |
// |---|---|
// | 2xx | `unauthenticated` with the source |
// | 401, 403, 409, 429, 5xx, no response | `postponed`; the retry uses the same key |
// | any other, or no public address for the customer's return | `unauthenticated` without a source |
//
// The idempotency key extends the key of the charge that failed. That key consists of the order and the number of the
// charge right, or of the source and the amount (``ChargeInstruction/idempotencyKey(of:amount:currency:by:)``). So each
// card gets one such source per order, no matter how often it is requested.
// *Source*: <https://docs.stripe.com/sources/three-d-secure>,
// <https://docs.stripe.com/declines/codes>, `authentication_required`.

extension StripeCharger {
    /// The code of a charge that was declined because the customer must authenticate it.
    static let unauthenticated = "authentication_required"

    /// Creates the source that the customer authenticates at the bank.
    ///
    /// `isDeclined`: a charge of the card was declined before.
    func authenticate(
        _ watch: Watch,
        _ instruction: ChargeInstruction,
        _ card: String,
        _ sum: ChargeInstruction.Sum,
        by right: ChargeRight?,
        isDeclined: Bool,
        until end: Duration
    ) async -> ChargeResult {
        guard let publicURL, let client = accounts.client(for: watch.key.account) else {
            return .unauthenticated(nil)
        }
        let account = watch.key.account
        let charge = instruction.idempotencyKey(
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
        params.metadata = instruction.metadata
        do throws(StripeError) {
            let response = try await client.post(
                "/v1/sources",
                form: params.form,
                idempotencyKey: "\(charge):3ds",
                timeout: end - elapsed()
            )
            let made = try response.decode(StripeAPI.Source.self)
            return .unauthenticated(
                ThreeDSecureSource(
                    key: WatchKey(
                        account: account,
                        source: SourceID(unchecked: made.id),
                        kind: .source
                    ),
                    clientSecret: made.clientSecret.map { secret in
                        PollerWatches.ClientSecret(unchecked: secret.rawValue)
                    },
                    needsRedirect: made.status == .pending,
                    publicURL: publicURL
                )
            )
        } catch {
            return Self.authenticationFailure(error, isDeclined: isDeclined)
        }
    }

    private static func authenticationFailure(
        _ error: StripeError,
        isDeclined: Bool
    ) -> ChargeResult {
        guard !error.isIndeterminate, case .api(let failure) = error, let errorBody = failure.error
        else { return .postponed("\(error)", retryAfter: nil) }
        switch failure.status {
        case 401, 403:
            return .postponed("\(failure)", retryAfter: refusedPause, isCertain: !isDeclined)
        case 409, 429:
            let isCertain = !isDeclined && errorBody.code == "rate_limit"
            return .postponed("\(failure)", retryAfter: nil, isCertain: isCertain)
        // The account may be too new for Sources, or the card unsuitable for 3D Secure sources.
        default: return .unauthenticated(nil)
        }
    }
}
