package import Poller
import PollerIdentity
package import PollerPayments
import PollerQueue
package import PollerWatches
import StripeAPI

/// Sends Stripe the payer's input: a verification code, or the account for a refund.
///
/// Each call is one request, to an endpoint with its own rate limit. No source is read here, because reads count
/// towards the polls, whose limits apply to the whole cluster. The next poll of the watch observes the effect of a
/// code.
///
/// The idempotency key of a code consists of the source and the values. As long as Stripe keeps keys, the same values
/// count as one attempt. A double click, a reloaded page or a lost response therefore uses no further attempt, and
/// wrong values do not become valid in that time. A refund account can be submitted repeatedly, and the last one
/// counts. The results never contain any part of it.
///
/// | response to a code | result |
/// |---|---|
/// | 2xx | the state of the source |
/// | 400 with a code for too many attempts, or for an expired verification | `exhausted` |
/// | 402, other 400 | `refused` |
/// | 400 for a key with other parameters, or for a source that is not pending; 401, 403, 409, 429, 5xx, none | `unknown` |
/// *Source*: <https://docs.stripe.com/sources>, code verification;
/// <https://docs.stripe.com/api/idempotent_requests>.
package struct StripePayers: PayerUpstream {
    private let accounts: StripeAccounts

    /// Creates a client for payers that uses the credentials of each watch's account.
    package init(accounts: StripeAccounts) {
        self.accounts = accounts
    }

    package func verify(
        _ watch: Watch,
        with values: VerificationValues,
        timeout: Duration
    ) async -> VerificationResult {
        guard watch.key.kind == .source else { return .notRequired }
        guard let stripe = StripePayer(accounts, watch) else {
            return .unknown(
                "this process has no API key with this permission for account \(watch.key.account)"
            )
        }
        do throws(StripeError) {
            let answer = try await stripe.verify(values, timeout)
            guard (200..<300).contains(answer.status) else {
                return Self.result(of: answer.failure)
            }
            return Self.result(of: try answer.decode(StripeAPI.Source.self))
        } catch {
            return .unknown("\(error)")
        }
    }

    package func submit(
        _ account: RefundAccount,
        for watch: Watch,
        paidBy method: PaymentMethod,
        timeout: Duration
    ) async -> RefundAccountResult {
        guard watch.key.kind == .source,
            let attributes = SourceRefundAttributes(account, paidBy: method)
        else { return .notRequired }
        guard let stripe = StripePayer(accounts, watch) else {
            return .unknown(
                "this process has no API key with this permission for account \(watch.key.account)"
            )
        }
        do throws(StripeError) {
            try await stripe.set(attributes, timeout)
            return .taken
        } catch .api(let failure) where failure.status == 400 || failure.status == 402 {
            // Stripe's message may repeat the submitted account.
            return .refused(failure.error?.code ?? failure.error?.param ?? "\(failure.status)")
        } catch .api(let failure) {
            return .unknown("Stripe answered \(failure.status)")
        } catch {
            return .unknown("Stripe's response does not contain the result")
        }
    }

    /// Returns the verification state of a source.
    private static func result(of source: StripeAPI.Source) -> VerificationResult {
        if source.status == .chargeable || source.status == .consumed { return .accepted }
        guard let verification = source.verification else { return .notRequired }
        switch verification.status {
        case .succeeded: return .accepted
        case .failed: return .exhausted
        default: return .refused(attemptsLeft: verification.attemptsRemaining)
        }
    }

    /// Returns the meaning of an error for the submitted values.
    private static func result(of failure: APIFailure) -> VerificationResult {
        let code = failure.error?.code ?? ""
        guard failure.status == 400 || failure.status == 402,
            failure.error?.type != .idempotencyError, code != "payment_method_unexpected_state"
        else { return .unknown("\(failure)") }
        let isOver = ["_attempts_exceeded", "_verification_timeout"].contains(where: code.hasSuffix)
        return isOver ? .exhausted : .refused(attemptsLeft: nil)
    }
}

/// One source, with the client that can change it.
private struct StripePayer {
    private let client: StripeClient
    private let id: String
    /// The client secret, which a publishable key requires.
    private let secret: String?

    /// Returns `nil` if the account has no key, or only a publishable key and the watch no client secret.
    init?(_ accounts: StripeAccounts, _ watch: Watch) {
        guard let client = accounts.client(for: watch.key.account) else { return nil }
        let isPublishable = client.configuration.key.kind == .publishable
        secret = isPublishable ? watch.clientSecret?.reveal : nil
        guard !isPublishable || secret != nil else { return nil }
        self.client = client
        id = watch.key.source.description
    }

    func set(
        _ attributes: SourceRefundAttributes,
        _ timeout: Duration
    ) async throws(StripeError) {
        var client = client
        client.configuration.timeout = timeout
        _ = try await client.setRefundAttributes(ofSource: id, attributes)
    }

    func verify(
        _ values: VerificationValues,
        _ timeout: Duration
    ) async throws(StripeError) -> StripeResponse {
        let form = values.texts.map { ("values[]", $0) }
        return try await client.post(
            "/v1/sources/\(id)/verify",
            form: form + (secret.map { [("client_secret", $0)] } ?? []),
            idempotencyKey: "poller-verify-\(ItemID(of: id, values.texts.joined(separator: " ")))",
            timeout: timeout
        )
    }
}

extension SourceRefundAttributes {
    /// Converts a refund account, or returns `nil` if the payment method cannot refund to this kind of account.
    fileprivate init?(_ account: RefundAccount, paidBy method: PaymentMethod) {
        switch (account.identifier, method.name) {
        case (.iban(let iban), "multibanco"):
            self = .multibanco(holderName: account.holder, iban: iban)
        case (.iban(let iban), "sepa_credit_transfer"):
            self = .sepaCreditTransfer(holderName: account.holder, iban: iban)
        case (.american(let routing, let number, let isBusiness), "ach_credit_transfer"):
            self = .achCreditTransfer(
                holderName: account.holder,
                holderType: isBusiness ? "company" : "individual",
                routingNumber: routing,
                accountNumber: number
            )
        default: return nil
        }
    }
}
