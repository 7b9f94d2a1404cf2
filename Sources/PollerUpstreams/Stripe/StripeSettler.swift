package import Poller
package import PollerIdentity
import StripeAPI

/// Captures and cancels Stripe's intents.
///
/// | answer | result |
/// |---|---|
/// | 2xx | `done` |
/// | 400 for the status it has by now, 404 | `outrun` |
/// | 400 with a code that asks to try later, 401, 403, 409, 429 | `postponed` |
/// | 400 for the key was used with other parameters, 4xx without Stripe's own error | `postponed` |
/// | other 4xx | `refused` |
/// | 5xx, no answer, an answer nobody understands | `unknown` |
///
/// *Source*: <https://docs.stripe.com/api/payment_intents/capture>,
/// <https://docs.stripe.com/api/payment_intents/cancel>,
/// <https://docs.stripe.com/api/setup_intents/cancel>, <https://docs.stripe.com/payments/multicapture>,
/// <https://docs.stripe.com/error-codes>.
package struct StripeSettler: Settler {
    /// The intent has another status than the act needs.
    private static let codesOfStatus: Set<String> = [
        "payment_intent_unexpected_state", "setup_intent_unexpected_state",
        "charge_already_captured", "charge_already_refunded",
    ]
    /// With these Stripe asks to try again later.
    private static let codesToRepeat: Set<String> = ["lock_timeout", "rate_limit"]

    private let accounts: StripeAccounts
    private let standing: [AccountID: DeadlineActs]

    /// Acts with the credentials of each watch's account; `standing` says what is done for watches of an
    /// account that say nothing.
    package init(accounts: StripeAccounts, standing: [AccountID: DeadlineActs] = [:]) {
        self.accounts = accounts
        self.standing = standing
    }

    package func standing(for account: AccountID) -> DeadlineActs {
        standing[account] ?? .unsaid
    }

    package func settle(
        _ watch: Watch,
        by act: DeadlineAct,
        timeout: Duration
    ) async -> SettleResult {
        guard let client = accounts.client(for: watch.key.account) else {
            return .postponed(
                "no API key for this account",
                retryAfter: StripeCharger.refusedPause
            )
        }
        // Of a hold that was captured in part the rest is let go by a last capture of nothing: an intent with money is
        // not cancelled any more.
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
            // An error is an answer too: only the object says that it was done.
            let seen = try response.decode(Seen.self)
            return seen.id == "\(watch.key.source)" ? .done : .unknown("it shows \(seen.id)")
        } catch {
            return Self.result(of: error)
        }
    }

    /// What shows that an intent was acted on; what has become of it the next look tells.
    private struct Seen: Decodable {
        let id: String
    }

    private static func result(of error: StripeError) -> SettleResult {
        if error.isIndeterminate { return .unknown("\(error)") }
        guard case .api(let failure) = error, let told = failure.error else {
            return .postponed("\(error)", retryAfter: nil)
        }
        let code = told.code ?? ""
        switch failure.status {
        case 401, 403: return .postponed("\(failure)", retryAfter: StripeCharger.refusedPause)
        case 404: return .outrun("\(failure)")
        case 409, 429: return .postponed("\(failure)", retryAfter: nil)
        case 400 where codesOfStatus.contains(code): return .outrun("\(failure)")
        case 400 where codesToRepeat.contains(code) || told.type == .idempotencyError:
            return .postponed("\(failure)", retryAfter: nil)
        default: return .refused("\(failure)")
        }
    }
}
