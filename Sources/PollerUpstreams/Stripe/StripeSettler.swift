import Poller
package import PollerIdentity
package import PollerPayments
package import PollerWatches
import StripeAPI

/// Captures and cancels Stripe intents.
///
/// | response | result |
/// |---|---|
/// | 2xx | `done` |
/// | 400 because of its current status, 404 | `superseded` |
/// | 400 with a code for a temporary error, 401, 403, 409, 429 | `postponed` |
/// | 400 because the key was used with other parameters, 4xx without Stripe's error object | `postponed` |
/// | other 4xx | `refused` |
/// | 5xx, no response, a response that cannot be parsed | `unknown` |
///
/// After 401, 403 and a rate limit the action was certainly not done, as for a charge (``StripeCharger``).
///
/// *Source*: <https://docs.stripe.com/api/payment_intents/capture>,
/// <https://docs.stripe.com/api/payment_intents/cancel>,
/// <https://docs.stripe.com/api/setup_intents/cancel>, <https://docs.stripe.com/payments/multicapture>,
/// <https://docs.stripe.com/error-codes>.
package struct StripeSettler: Settler {
    /// The codes of errors for a status that does not allow the action.
    private static let codesOfStatus: Set<String> = [
        "payment_intent_unexpected_state", "setup_intent_unexpected_state",
        "charge_already_captured", "charge_already_refunded",
    ]
    /// The codes of temporary errors.
    private static let codesToRepeat: Set<String> = ["lock_timeout", "rate_limit"]

    private let accounts: StripeAccounts
    private let defaults: [AccountID: DeadlineActs]

    /// Creates a settler that uses the credentials of each watch's account.
    ///
    /// `defaults` has the default actions of an account's watches.
    package init(accounts: StripeAccounts, defaults: [AccountID: DeadlineActs] = [:]) {
        self.accounts = accounts
        self.defaults = defaults
    }

    package func defaults(for account: AccountID) -> DeadlineActs {
        defaults[account] ?? .unset
    }

    package func settle(
        _ watch: Watch,
        by act: DeadlineAct,
        timeout: Duration
    ) async -> SettleResult {
        guard let client = accounts.client(for: watch.key.account) else {
            return .postponed(
                "no API key for this account",
                retryAfter: StripeCharger.refusedPause,
                isCertain: true
            )
        }
        // An intent with captured money cannot be cancelled. A final capture of 0 releases the rest of its
        // authorisation.
        let isRest = act == .release && watch.payment?.money != nil
        let verb = act == .capture || isRest ? "capture" : "cancel"
        var form: [(String, String)] = act == .abandon ? [("cancellation_reason", "abandoned")] : []
        if isRest { form = [("amount_to_capture", "0"), ("final_capture", "true")] }
        do throws(StripeError) {
            let response = try await client.post(
                "/v1/\(watch.key.kind.endpoint)/\(watch.key.source)/\(verb)",
                form: form,
                idempotencyKey: act.idempotencyKey(of: watch),
                timeout: timeout
            )
            // A response may contain an error, so only a decoded object proves that the action was done.
            let seen = try response.decode(Seen.self)
            return seen.id == "\(watch.key.source)" ? .done : .unknown("it shows \(seen.id)")
        } catch {
            return Self.result(of: error)
        }
    }

    /// The proof that Stripe acted on the intent; the next poll reads its status.
    private struct Seen: Decodable {
        let id: String
    }

    private static func result(of error: StripeError) -> SettleResult {
        if error.isIndeterminate { return .unknown("\(error)") }
        guard case .api(let failure) = error, let errorBody = failure.error else {
            return .postponed("\(error)", retryAfter: nil)
        }
        let code = errorBody.code ?? ""
        switch failure.status {
        case 401, 403:
            let pause = StripeCharger.refusedPause
            return .postponed("\(failure)", retryAfter: pause, isCertain: true)
        case 404: return .superseded("\(failure)")
        case 409, 429:
            return .postponed("\(failure)", retryAfter: nil, isCertain: code == "rate_limit")
        case 400 where codesOfStatus.contains(code): return .superseded("\(failure)")
        case 400 where codesToRepeat.contains(code) || errorBody.type == .idempotencyError:
            return .postponed("\(failure)", retryAfter: nil)
        default: return .refused("\(failure)")
        }
    }
}
