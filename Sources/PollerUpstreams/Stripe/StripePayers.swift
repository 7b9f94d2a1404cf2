package import Poller
import PollerIdentity
import PollerQueue
import StripeAPI

/// Tells Stripe what payers have told us: a code, or the account that money goes back to.
///
/// One request, to an endpoint with a limit of its own. Nothing is read here: reading a source counts with
/// the polls, whose limits are kept for the whole cluster, so what a code has changed is seen by the
/// watch's own next look.
///
/// The idempotency key of a code is made of the source and the values, so the same values are one try for
/// as long as Stripe keeps keys: a double click, a page that is loaded again and a request whose answer got
/// lost use up no further one, and wrong values do not become right in that time. An account may be handed
/// in again and again, and the last one counts; nothing of it is in what comes back from here.
///
/// | answer to a code | result |
/// |---|---|
/// | 2xx | what the source says |
/// | 400 whose code tells of too many tries, or of the end of the time for them | `exhausted` |
/// | 402, other 400 | `refused` |
/// | 400 for a key used otherwise, or for a source that is not pending; 401, 403, 409, 429, 5xx, none | `unknown` |
/// *Source*: <https://docs.stripe.com/sources>, code verification;
/// <https://docs.stripe.com/api/idempotent_requests>.
package struct StripePayers: PayerUpstream {
    private let accounts: StripeAccounts

    /// Speaks with the credentials of each watch's account.
    package init(accounts: StripeAccounts) {
        self.accounts = accounts
    }

    package func verify(
        _ watch: Watch,
        with values: VerificationValues,
        timeout: Duration
    ) async -> VerificationResult {
        guard watch.key.kind == .source else { return .notAsked }
        guard let stripe = StripePayer(accounts, watch) else {
            return .unknown(
                "this process has no API key that may, for account \(watch.key.account)"
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

    package func give(
        _ account: RefundAccount,
        for watch: Watch,
        paidBy method: PaymentMethod,
        timeout: Duration
    ) async -> RefundAccountResult {
        guard watch.key.kind == .source,
            let attributes = SourceRefundAttributes(account, paidBy: method)
        else { return .notAsked }
        guard let stripe = StripePayer(accounts, watch) else {
            return .unknown(
                "this process has no API key that may, for account \(watch.key.account)"
            )
        }
        do throws(StripeError) {
            try await stripe.set(attributes, timeout)
            return .taken
        } catch .api(let failure) where failure.status == 400 || failure.status == 402 {
            // Its message may repeat what was handed in.
            return .refused(failure.error?.code ?? failure.error?.param ?? "\(failure.status)")
        } catch .api(let failure) {
            return .unknown("Stripe answered \(failure.status)")
        } catch {
            return .unknown("Stripe gave no answer that says it")
        }
    }

    /// How far a source's verification got.
    private static func result(of source: StripeAPI.Source) -> VerificationResult {
        if source.status == .chargeable || source.status == .consumed { return .accepted }
        guard let verification = source.verification else { return .notAsked }
        switch verification.status {
        case .succeeded: return .accepted
        case .failed: return .exhausted
        default: return .refused(attemptsLeft: verification.attemptsRemaining)
        }
    }

    /// What an error says of the values.
    private static func result(of failure: APIFailure) -> VerificationResult {
        let code = failure.error?.code ?? ""
        guard failure.status == 400 || failure.status == 402,
            failure.error?.type != .idempotencyError, code != "payment_method_unexpected_state"
        else { return .unknown("\(failure)") }
        let isOver = ["_attempts_exceeded", "_verification_timeout"].contains(where: code.hasSuffix)
        return isOver ? .exhausted : .refused(attemptsLeft: nil)
    }
}

/// One source, with what reaches it.
private struct StripePayer {
    private let client: StripeClient
    private let id: String
    /// Needed beside a publishable key.
    private let secret: String?

    /// Nil when nobody has told us how to reach the account, or the key cannot do it.
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
    /// What is handed in of an account; nil where a way to pay gives money back to none of that sort.
    fileprivate init?(_ account: RefundAccount, paidBy method: PaymentMethod) {
        switch (account.place, method.name) {
        case (.iban(let iban), "multibanco"):
            self = .multibanco(holderName: account.holder, iban: iban)
        case (.iban(let iban), "sepa_credit_transfer"):
            self = .sepaCreditTransfer(holderName: account.holder, iban: iban)
        case (.american(let routing, let number, let isCompany), "ach_credit_transfer"):
            self = .achCreditTransfer(
                holderName: account.holder,
                holderType: isCompany ? "company" : "individual",
                routingNumber: routing,
                accountNumber: number
            )
        default: return nil
        }
    }
}
