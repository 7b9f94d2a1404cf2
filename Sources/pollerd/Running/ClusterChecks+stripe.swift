import PollerAPI
import PollerDeliveries
import PollerHints
import PollerIdentity
import PollerQueue
import PollerUpstreams
import StripeAPI

/// The checks of Stripe keys and webhooks.
extension ClusterChecks {
    /// Checks every configured account's key and reports the worst result.
    ///
    /// A revoked key stops only its own account.
    static func stripeKeys(_ accounts: StripeAccounts) async -> HealthResult {
        let named = accounts.named
        guard !named.isEmpty else {
            return .warning(
                "this process has no key for the default account; only workers need one",
                action: "if no worker has one, set STRIPE_API_KEY; a restricted read-only key "
                    + "is enough"
            )
        }
        // In parallel for any number of accounts, because a check ends after 10 s.
        let results = await withTaskGroup(of: (AccountID, HealthResult).self) { group in
            for account in named {
                guard let configuration = accounts.configuration(for: account) else {
                    group.addTask { (account, ofOrganisation) }
                    continue
                }
                group.addTask { (account, await stripeKey(configuration, of: account)) }
            }
            return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
        let ordered = named.compactMap { account in results[account].map { (account, $0) } }
        guard ordered.count > 1 else { return ordered[0].1 }
        let bad = ordered.filter { $0.1.status != .ok }
        guard let worst = bad.first(where: { $0.1.status == .failed }) ?? bad.first else {
            return .ok("\(ordered.count) accounts, each with a key that can read")
        }
        // Each action names its own setting.
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

    /// Checks whether Stripe's webhooks are rejected, and why.
    static func stripeWebhooks(
        _ store: any WebhookHealthStore,
        _ settings: Settings
    ) async throws(StoreError) -> HealthResult {
        let now = WallClock.now()
        let refused = try await store.refusedWebhooks().filter { $0.isRecent(at: now) }
        if let first = refused.first(where: \.needsAttention) ?? refused.first {
            return HealthResult(
                first.needsAttention ? .failed : .warning,
                refused.map(\.message).joined(separator: "; "),
                action: first.action
            )
        }
        return .ok(
            settings.expectsStripeWebhooks
                ? "none was refused"
                : "no signing secret in this process; polls and the event sweep find changes"
        )
    }

    /// Returns the result for a clock that differs from Stripe's, or `nil` if it agrees or Stripe sent no date.
    private static func clock(_ response: StripeResponse) -> HealthResult? {
        guard let date = response.headers.date.flatMap({ RetryAfter.date($0) }) else { return nil }
        let ahead = (WallClock.now() - date).components.seconds
        guard ahead.magnitude > clockDifferenceMax else { return nil }
        return HealthResult(
            // Beyond 300 s webhooks are rejected, and the event sweep may miss events that become visible late.
            ahead.magnitude > 300 ? .failed : .warning,
            "the clock of this machine is \(ahead.magnitude) s "
                + "\(ahead > 0 ? "ahead of" : "behind") Stripe's",
            action: "synchronize the clocks of all machines with NTP"
        )
    }

    /// In seconds: more than a response takes, and far less than the tolerance of webhooks.
    private static let clockDifferenceMax: UInt64 = 30

    /// The result for an organisation's key, which cannot be tried without one of its accounts.
    private static let ofOrganisation = HealthResult.ok(
        "the key of an organisation, which reads the accounts (acct_…) that watches name"
    )

    /// The setting that holds the key of an account.
    private static func setting(of account: AccountID) -> String {
        account == .main
            ? "STRIPE_API_KEY" : "accounts.\(account).stripe_api_key of the configuration file"
    }

    private static func stripeKey(
        _ configuration: StripeClientConfiguration,
        of account: AccountID
    ) async -> HealthResult {
        guard configuration.key.kind != .publishable else {
            return .warning(
                "a publishable key: every watch needs its client_secret",
                action: "set \(setting(of: account)) to a restricted key that can read sources"
            )
        }
        let client = StripeClient(configuration: configuration)
        do {
            // Requests objects that cannot exist: 404 proves that the key may read. A key that may not read sources may
            // be for payment intents only.
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
                return .failed(
                    "\(response.failure)",
                    action: "set \(setting(of: account)) to a valid key that can read "
                        + "sources or payment intents"
                )
            case 500...: return .failed("\(response.failure)", action: "try again")
            default:
                let limit = isForIntents ? ", which can read payment intents but not sources" : ""
                return clock(response) ?? HealthResult.ok("\(configuration.key)\(limit)")
            }
        } catch {
            return .failed(
                "\(error)",
                action: "check that this machine can connect to POLLER_STRIPE_API_BASE"
            )
        }
    }
}

extension Settings {
    /// Whether any account has the signing secret of Stripe's webhooks.
    var expectsStripeWebhooks: Bool {
        !stripeWebhookSecrets.isEmpty
            || sections.accounts.values.contains { !$0.webhookSecrets.isEmpty }
    }
}
