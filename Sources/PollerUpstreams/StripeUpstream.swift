package import Poller
import StripeAPI

/// Stripe as the truth about Sources and PaymentIntents: one GET a poll, no retries of its own.
///
/// | answer | result |
/// |---|---|
/// | 2xx with an object of this id | `observed` |
/// | 401, 403, no key for the account | `unauthorized` |
/// | 404 | `gone` |
/// | 429 with code `lock_timeout` | `lockTimeout` |
/// | any other 429 | `rateLimited`, with `Retry-After` when there is one |
/// | 409, 5xx, no answer in time, connection lost | `unavailable` |
/// | anything else: other 4xx, 3xx, no JSON, a wrong type, a body beyond 1 MiB | `malformed` |
package struct StripeUpstream: Upstream {
    private let accounts: StripeAccounts
    private let wallClock: @Sendable () -> Timestamp

    /// Asks with the credentials of each watch's account; `wallClock` turns dates into waits.
    package init(accounts: StripeAccounts, wallClock: @escaping @Sendable () -> Timestamp) {
        self.accounts = accounts
        self.wallClock = wallClock
    }

    package func poll(_ watch: Watch, timeout: Duration) async -> PollResult {
        guard let configuration = accounts.configuration(for: watch.key.account) else {
            return .unauthorized("no API key is configured for account \(watch.key.account)")
        }
        var query: [(String, String)] = []
        if configuration.key.kind == .publishable {
            guard let secret = watch.clientSecret else {
                return .malformed(
                    "a publishable key needs the client_secret: enqueue the source again with it"
                )
            }
            query.append(("client_secret", secret.reveal))
        }
        do {
            let response = try await StripeClient(configuration: configuration)
                .get(
                    "/v1/\(watch.key.kind.endpoint)/\(watch.key.source)",
                    query: query,
                    timeout: timeout
                )
            return result(of: response, for: watch)
        } catch {
            return result(of: error)
        }
    }

    private func result(of response: StripeResponse, for watch: Watch) -> PollResult {
        switch response.status {
        case 200..<300: return observed(response, watch)
        case 401, 403: return .unauthorized("\(response.failure)")
        case 404: return .gone
        case 429:
            let isLocked = response.failure.error?.code == "lock_timeout"
            return isLocked
                ? .lockTimeout
                : .rateLimited(retryAfter: retryAfter(response))
        case 409, 500...:
            return .unavailable(
                "\(response.failure)",
                retryAfter: retryAfter(response)
            )
        default: return .malformed("\(response.failure)")
        }
    }

    private func retryAfter(_ response: StripeResponse) -> Duration? {
        response.headers.retryAfter.flatMap { RetryAfter.parse($0, now: wallClock()) }
    }

    private func observed(_ response: StripeResponse, _ watch: Watch) -> PollResult {
        do {
            let object = try response.decode(ObservedObject.self)
            guard object.id == watch.key.source.description else {
                return .malformed("the answer is about another object")
            }
            let status: Poller.SourceStatus
            do throws(InvalidInput) {
                status = try Poller.SourceStatus(object.status)
            } catch {
                return .malformed("\(error)")
            }
            return .observed(
                Observation(
                    status: status,
                    final: object.isFinal(status, watch.key.kind),
                    object: RawJSON(unchecked: String(decoding: response.body, as: UTF8.self))
                )
            )
        } catch {
            return .malformed("\(error)")
        }
    }

    private func result(of error: StripeError) -> PollResult {
        switch error {
        case .transport(let failure): .unavailable("\(failure)", retryAfter: nil)
        case .api(let failure): .unavailable("\(failure)", retryAfter: nil)
        case .bodyTooLarge, .malformed, .invalidRequest: .malformed("\(error)")
        }
    }
}

/// The few fields of an object that decide what follows; everything else passes through.
private struct ObservedObject: Decodable {
    let id: String
    let status: String
    /// `reusable` sources stay chargeable for good: that is their settled state.
    let usage: String?

    /// Whether the object's status cannot change any more (FACTS §2.1, §2.6).
    func isFinal(_ status: Poller.SourceStatus, _ kind: SourceKind) -> Bool {
        switch (kind, status.description) {
        case (.source, "consumed"), (.source, "canceled"), (.source, "failed"): true
        case (.source, "chargeable"): usage?.lowercased() == "reusable"
        case (.paymentIntent, "succeeded"), (.paymentIntent, "canceled"): true
        default: false
        }
    }
}
