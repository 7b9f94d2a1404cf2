import Poller
import PollerAPI
import PollerUpstreams
import StripeAPI

/// Whether the keys for Stripe may read what is watched.
extension ClusterChecks {
    /// Every account's key: one that has been revoked stops its own payments only.
    static func stripeKeys(_ accounts: StripeAccounts) async -> HealthResult {
        let named = accounts.named
        guard !named.isEmpty else {
            return HealthResult(
                .warning,
                "this process has no key for the default account; the workers may have it alone",
                action: "where none has: set STRIPE_API_KEY; a restricted read-only key is enough"
            )
        }
        // Side by side, as many as a company has accounts: a check ends after 10 s.
        let results = await withTaskGroup(of: (AccountID, HealthResult).self) { group in
            for account in named {
                guard let configuration = accounts.configuration(for: account) else { continue }
                group.addTask { (account, await stripeKey(configuration, of: account)) }
            }
            return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
        let ordered = named.compactMap { account in results[account].map { (account, $0) } }
        guard ordered.count > 1 else { return ordered[0].1 }
        let bad = ordered.filter { $0.1.status != .ok }
        guard let worst = bad.first(where: { $0.1.status == .failed }) ?? bad.first else {
            return HealthResult(.ok, "\(ordered.count) accounts, each with a key that may read")
        }
        // Each names its own setting.
        var actions: [String] = []
        for action in [worst.1.action] + bad.map(\.1.action) {
            if let action, !actions.contains(action) { actions.append(action) }
        }
        return HealthResult(
            worst.1.status,
            bad.map { "\($0.0): \($0.1.message)" }.joined(separator: "; "),
            action: actions.isEmpty ? nil : actions.joined(separator: "; ")
        )
    }

    /// Where the key of an account is set.
    private static func setting(of account: AccountID) -> String {
        account == .main
            ? "STRIPE_API_KEY" : "accounts.\(account).stripe_api_key of the configuration file"
    }

    private static func stripeKey(
        _ configuration: StripeClientConfiguration,
        of account: AccountID
    ) async -> HealthResult {
        guard configuration.key.kind != .publishable else {
            return HealthResult(
                .warning,
                "a publishable key: every watch needs its client_secret",
                action: "set \(setting(of: account)) to a restricted key that may read sources"
            )
        }
        let client = StripeClient(configuration: configuration)
        do {
            // Asks for objects that cannot exist: 404 proves that the key may read. One that may not read sources may
            // be for payment intents alone.
            var response = try await client.get("/v1/sources/src_doctor", timeout: .seconds(10))
            let isForIntents = response.status == 403
            if isForIntents {
                response = try await client.get(
                    "/v1/payment_intents/pi_doctor",
                    timeout: .seconds(10)
                )
            }
            switch response.status {
            case 401, 403:
                return HealthResult(
                    .failed,
                    "\(response.failure)",
                    action: "set \(setting(of: account)) to a key that is valid and may read "
                        + "sources or payment intents"
                )
            case 500...: return HealthResult(.failed, "\(response.failure)", action: "try again")
            default:
                let limit = isForIntents ? ", which may read payment intents and no sources" : ""
                return HealthResult(.ok, "\(configuration.key)\(limit)")
            }
        } catch {
            return HealthResult(
                .failed,
                "\(error)",
                action: "can this machine reach POLLER_STRIPE_API_BASE?"
            )
        }
    }
}
