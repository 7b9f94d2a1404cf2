import PollerChannels
import PollerDeliveries
import PollerIdentity
import PollerOperations
import PollerPayments
import PollerQueue
import PollerUpstreams
import PollerWatches

/// The sections of the configuration file: further Stripe accounts, HTTP upstreams, and endpoints.
///
/// ``YAMLNode/endpoint(named:)`` shows an example of an endpoint.
///
/// *Shape*:
/// ```
/// accounts:
///   acct_1:
///     stripe_api_key: {env: ACME_STRIPE_KEY}
///     webhook_secrets: {file: /run/secrets/acme_whsec}
///     connected: [acct_2, acct_3]
///     charge: {description: Acme}
///     refund_duplicates: true
///     authorisation: capture
///     abandoned: cancel
///     branding: {name: Acme GmbH, support: help@acme.example, colour: "#1a73e8"}
///     limits: {watches: 50000, endpoints: 20}
/// upstreams:
///   bank:
///     url: https://bank.example/payments/{id}
///     status: /payment/state
///     final: [settled, rejected]
///     payment: {state: {map: {settled: paid, rejected: failed}}, amount: /payment/cents, currency: eur}
///     headers: {Authorization: {env: BANK_TOKEN, prefix: "Bearer "}}
///     rate: 10
///     burst: 5
///     concurrency: 10
///     timeout: 5s
/// ```
struct FileSections: Sendable {
    /// One Stripe account.
    struct Account: Sendable {
        /// The account's key, or `nil` for the default account if an option holds its key.
        let apiKey: String?
        let webhookSecrets: [String]
        /// The accounts that events signed with these secrets may name.
        let connected: ConnectedAccounts
        /// The default for sources without a charge instruction in their watch, or `nil` to charge none.
        let charge: ChargeInstruction?
        /// Whether a second payment of an order is refunded automatically.
        let refundsDuplicates: Bool
        /// The actions before deadlines, for watches that name none.
        let acts: DeadlineActs
        /// The branding on the return page and in emails.
        let branding: Branding?
    }

    /// The keys of the file that are sections.
    static let keys = ["accounts", "upstreams", "endpoints"]

    private(set) var accounts: [AccountID: Account] = [:]
    private(set) var upstreams: [HTTPSource] = []
    /// The branding of upstreams, used in emails.
    private(set) var upstreamBranding: [AccountID: Branding] = [:]
    /// Limits of single accounts and upstreams.
    ///
    /// `nil` means the limit for all accounts.
    private var limits: [AccountID: (watches: Int?, endpoints: Int?)] = [:]
    /// The endpoints, or `nil` if the file has no such section and therefore manages no endpoints.
    private(set) var endpoints: [Endpoint]?

    /// Reads one section and returns all its mistakes, one each.
    mutating func read(_ key: String, _ node: YAMLNode) -> [ConfigurationError] {
        let named: [(name: String, value: YAMLNode)]
        do throws(ConfigurationError) {
            named = try node.members()
        } catch {
            return [error]
        }
        if key == "endpoints" { endpoints = [] }
        var mistakes: [ConfigurationError] = []
        for (name, value) in named {
            do throws(ConfigurationError) {
                try read(name, value, of: key)
            } catch {
                mistakes.append(error)
            }
        }
        if key == "endpoints", mistakes.isEmpty {
            do throws(ConfigurationError) { try checkFallbacks(node) } catch {
                mistakes.append(error)
            }
        }
        if key == "accounts", mistakes.isEmpty {
            do throws(ConfigurationError) { try checkConnected(node) } catch {
                mistakes.append(error)
            }
        }
        return mistakes
    }

    private mutating func read(
        _ name: String,
        _ value: YAMLNode,
        of key: String
    ) throws(ConfigurationError) {
        if key == "endpoints" {
            let endpoint = try value.endpoint(named: name)
            endpoints?.append(endpoint)
            return
        }
        let id = try value.checked { () throws(InvalidInput) in try AccountID(name) }
        limits[id] = try value.member("limits")?.accountLimits()
        if key == "accounts" {
            accounts[id] = try Self.account(id, value)
        } else {
            upstreams.append(try Self.upstream(id, value))
            upstreamBranding[id] = try value.member("branding")?.branding()
        }
    }

    /// Returns the limits of all accounts, with `standard` for accounts that set none.
    func limits(standard: AccountLimit) -> AccountLimits {
        let individual = limits.mapValues { limit in
            AccountLimit(
                watches: limit.watches ?? standard.watches,
                endpoints: limit.endpoints ?? standard.endpoints
            )
        }
        return AccountLimits(standard: standard, individual: individual)
    }

    /// Checks that each fallback name is an endpoint of this file.
    private func checkFallbacks(_ node: YAMLNode) throws(ConfigurationError) {
        let endpoints = endpoints ?? []
        let ids = Set(endpoints.map(\.id))
        for endpoint in endpoints {
            guard let fallback = endpoint.notifyBy?.fallback, !ids.contains(fallback),
                let named = try node.member(endpoint.name ?? "")?.member("notify_by")?
                    .required("endpoint"),
                try !named.text().hasPrefix("ep_")
            else { continue }
            throw named.wrong("names no endpoint of this file under the same account")
        }
    }

    /// The platform of each connected account that a list names.
    var platforms: [AccountID: AccountID] {
        var platforms: [AccountID: AccountID] = [:]
        for (platform, account) in accounts {
            guard case .listed(let connected) = account.connected else { continue }
            for one in connected { platforms[one] = platform }
        }
        return platforms
    }

    /// Checks that each account has one tenant: itself if the file names it, otherwise one platform.
    private func checkConnected(_ node: YAMLNode) throws(ConfigurationError) {
        var platforms: [AccountID: AccountID] = [:]
        for (platform, account) in accounts.sorted(by: { "\($0.key)" < "\($1.key)" }) {
            guard case .listed(let connected) = account.connected,
                let list = node.member(platform.description)?.member("connected")
            else { continue }
            for one in connected.sorted(by: { "\($0)" < "\($1)" }) {
                guard accounts[one] == nil else {
                    throw list.wrong("names \(one), which is itself an account of this file")
                }
                if let other = platforms.updateValue(platform, forKey: one) {
                    throw list.wrong("names \(one), which is connected to \(other) already")
                }
            }
        }
    }

    private static func account(
        _ id: AccountID,
        _ node: YAMLNode
    ) throws(ConfigurationError) -> Account {
        try node.checkMembers(of: "accounts.NAME")
        let secrets = try node.member("webhook_secrets")?.secret() ?? ""
        let connected = try node.member("connected")?.connectedAccounts(of: id) ?? .none
        let key =
            id == .main
            ? try node.member("stripe_api_key")?.secret()
            : try node.required("stripe_api_key").secret()
        let charge = try node.member("charge")?.defaultCharge()
        if charge != nil, key?.hasPrefix("pk_") ?? false {
            throw node.wrong(
                "charge needs a secret key or a restricted key that can create charges"
            )
        }
        let refunds = node.member("refund_duplicates")
        guard let refundsDuplicates = Bool(try refunds?.text() ?? "false") else {
            throw (refunds ?? node).wrong("must be true or false")
        }
        if refundsDuplicates, key?.hasPrefix("pk_") ?? false {
            throw node.wrong(
                "refund_duplicates needs a secret key or a restricted key that can create refunds"
            )
        }
        let acts = try node.deadlineActs()
        if acts.ofHold != nil || acts.ofAbandoned != nil, key?.hasPrefix("pk_") ?? false {
            throw node.wrong(
                "authorisation and abandoned need a secret key or a restricted key that can "
                    + "write intents"
            )
        }
        return Account(
            apiKey: key,
            webhookSecrets: secrets.split { $0 == "," || $0.isWhitespace }.map(String.init),
            connected: connected,
            charge: charge,
            refundsDuplicates: refundsDuplicates,
            acts: acts,
            branding: try node.member("branding")?.branding()
        )
    }

    private static func upstream(
        _ name: AccountID,
        _ node: YAMLNode
    ) throws(ConfigurationError) -> HTTPSource {
        try node.checkMembers(of: "upstreams.NAME")
        var headers: [HTTPSource.Header] = []
        for (header, value) in try node.member("headers")?.members() ?? [] {
            let text = try value.secret(isPlainAllowed: true)
            headers.append(
                try value.checked { () throws(InvalidInput) in
                    try HTTPSource.Header(header, text)
                }
            )
        }
        let timeout = Duration(text: try node.member("timeout")?.text() ?? "8s")
        guard let timeout, timeout >= .milliseconds(100), timeout <= .seconds(300) else {
            throw node.wrong("timeout must be a duration from 100ms to 5m")
        }
        let limit = LaneLimit(
            ratePerSecond: Double(try node.member("rate")?.count(0...1_000_000) ?? 10),
            burst: try node.member("burst")?.count(1...1_000_000) ?? 5,
            inFlightMax: try node.member("concurrency")?.count(1...1_000_000) ?? 10
        )
        let url = try node.required("url").text()
        let pointer = try node.required("status").text()
        let payment = try node.member("payment")?.payment(status: pointer)
        let final = try node.required("final").texts()
        return try node.checked { () throws(InvalidInput) in
            try HTTPSource(
                name: name,
                url: url,
                status: JSONPointer(pointer),
                final: Set(final),
                payment: payment,
                headers: headers,
                timeout: timeout,
                limit: limit
            )
        }
    }
}

extension YAMLNode {
    /// Reads the branding of an account.
    ///
    /// See ``Branding`` for an example.
    func branding() throws(ConfigurationError) -> Branding {
        try checkMembers(of: "branding")
        let name = try required("name").text()
        let texts = try (
            url: optional("url"), support: optional("support"), colour: optional("colour"),
            logo: optional("logo"), language: optional("language"),
            zone: optional("time_zone"), holder: optional("account_holder")
        )
        // Parsed here too, so that an invalid address is an error of the file.
        let sender = try optional("mail_from")
        if let sender { _ = try checked { () throws(InvalidInput) in try MailSender(sender) } }
        return try checked { () throws(InvalidInput) in
            try Branding(
                name: name,
                homeURL: texts.url,
                support: texts.support,
                colour: texts.colour,
                logoURL: texts.logo,
                languageTag: texts.language,
                mailFrom: sender,
                timeZone: texts.zone,
                accountHolder: texts.holder
            )
        }
    }

    /// Reads an account's limits, `{watches: 50000, endpoints: 20}`.
    ///
    /// 0 means no limit. A missing member means the limit for all accounts.
    fileprivate func accountLimits() throws(ConfigurationError) -> (watches: Int?, endpoints: Int?)
    {
        try checkMembers(of: "limits")
        return (
            try member("watches")?.count(0...1_000_000_000),
            try member("endpoints")?.count(0...1_000_000)
        )
    }

    /// Reads a platform's connected accounts: a list of `acct_…`, or `all` for the default account.
    ///
    /// Only the default account may use `all`, because its key reads the accounts that no list names.
    fileprivate func connectedAccounts(
        of platform: AccountID
    ) throws(ConfigurationError) -> ConnectedAccounts {
        let texts = try texts()
        if texts == ["all"] {
            guard platform == .main else {
                throw wrong("can be all only for the account default: list the accounts (acct_…)")
            }
            return .all
        }
        guard texts.count <= ConnectedAccounts.listedMax else {
            throw wrong("names more than \(ConnectedAccounts.listedMax) accounts: use all")
        }
        var accounts: Set<AccountID> = []
        for text in texts {
            guard let account = ConnectedAccounts.account(named: text) else {
                throw wrong("must be a list of Stripe account IDs (acct_…) or all")
            }
            accounts.insert(account)
        }
        return .listed(accounts)
    }

    fileprivate func optional(_ name: String) throws(ConfigurationError) -> String? {
        try member(name).map { node throws(ConfigurationError) in try node.text() }
    }
}

extension YAMLNode {
    /// Reads the actions before deadlines for the watches of an account.
    ///
    /// *Shape*: members `authorisation: capture` (or `cancel`, `leave`) and `abandoned: cancel` (or `leave`).
    func deadlineActs() throws(ConfigurationError) -> DeadlineActs {
        let texts = try (authorisation: optional("authorisation"), abandoned: optional("abandoned"))
        return try checked { () throws(InvalidInput) in
            try DeadlineActs(authorisation: texts.authorisation, abandoned: texts.abandoned)
        }
    }

    /// Reads an account's default charge of each source that becomes chargeable, or `nil` for `false`.
    ///
    /// *Shape*: `true`, or any of `{description: Acme, statement_descriptor: ACME, metadata: {shop: "7"}}`. The amount
    /// is always that of the source, because one amount for all sources would be a mistake.
    func defaultCharge() throws(ConfigurationError) -> ChargeInstruction? {
        if let text = try? text() {
            switch text {
            case "true": return .whole
            case "false": return nil
            default: throw wrong("must be true, false or a mapping")
            }
        }
        try checkMembers(of: "accounts.NAME.charge")
        let note = try member("description")?.text()
        let descriptor = try member("statement_descriptor")?.text()
        var metadata: [String: String] = [:]
        for (name, value) in try member("metadata")?.members() ?? [] {
            metadata[name] = try value.text()
        }
        return try checked { () throws(InvalidInput) in
            try ChargeInstruction(note: note, statementDescriptor: descriptor, metadata: metadata)
        }
    }
}
