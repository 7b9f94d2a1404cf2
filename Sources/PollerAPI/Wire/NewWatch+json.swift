import Poller

extension NewWatch {
    /// What `POST /v1/watches` reads, in the order documents list it.
    private static let fields = [
        "source", "account", "kind", "url", "client_secret", "policy", "until", "timeout", "notify",
        "charge", "metadata",
    ]

    /// Checks a request to watch something; `locator` tells whose a URL is.
    ///
    /// Errors: a ``Problem`` that names the field.
    init(json: JSONValue, locator: (any SourceLocator)?) throws(Problem) {
        guard case .object(let members) = json else {
            throw Problem(
                .wrongType,
                "A watch must be an object such as {\"source\":\"src_…\"}, not \(json.typeName)."
            )
        }
        for member in members { try Self.checkKnown(member.name) }
        let body = RequestFields(members)
        let key = try WatchKey(body, locator)
        let policy = try body.string("policy")
        let goal = try body.string("until")
        let secret = try body.string("client_secret")
        let timeout = try body.duration("timeout")
        let notify = try body.strings("notify")
        let metadata = try body.metadata("metadata")
        let charge = try ChargeOrder.reading(members.first { $0.name == "charge" }?.value)
        self = try Problem.checked { () throws(InvalidInput) in
            var urls: [NotifyURL] = []
            for (index, text) in notify.enumerated() {
                let url = try NotifyURL(text, field: "notify[\(index)]")
                if !urls.contains(url) { urls.append(url) }
            }
            return try NewWatch(
                key: key,
                policy: try policy.map { name throws(InvalidInput) in
                    try PollPolicy(named: name)
                } ?? .standard,
                goal: try goal.map { name throws(InvalidInput) in
                    try WatchGoal(named: name)
                } ?? .settled,
                timeout: timeout,
                notify: urls,
                clientSecret: try secret.map { text throws(InvalidInput) in
                    try ClientSecret(text)
                },
                metadata: metadata,
                charge: charge
            )
        }
    }

    private static func checkKnown(_ name: String) throws(Problem) {
        guard fields.contains(name) else {
            let shown = String(name.prefix(64))
            throw Problem(
                .unknownField,
                "\(shown) is not known; a watch has \(fields.joined(separator: ", ")).",
                field: shown
            )
        }
    }
}

extension WatchKey {
    /// What a request names: `source` with its account and kind, or a `url`.
    fileprivate init(
        _ body: RequestFields,
        _ locator: (any SourceLocator)?
    ) throws(Problem) {
        let sourceText = try body.string("source")
        let accountText = try body.string("account")
        let kindText = try body.string("kind")
        let source = try Problem.checked { () throws(InvalidInput) in
            try sourceText.map { text throws(InvalidInput) in try SourceID(text) }
        }
        let account = try Problem.checked { () throws(InvalidInput) in
            try accountText.map { text throws(InvalidInput) in try AccountID(text) }
        }
        if let url = try body.string("url") {
            guard kindText == nil || kindText == SourceKind.http.rawValue else {
                throw Problem(.invalidValue, "A watch with a url is of kind http.", field: "kind")
            }
            let found = try Problem.checked { () throws(InvalidInput) in
                guard let locator else {
                    throw InvalidInput(field: "url", message: "is not taken here")
                }
                return try locator.key(of: url, account: account)
            }
            guard source == nil || source == found.source else {
                throw Problem(
                    .invalidValue,
                    "source is not the id in the url, \(found.source): leave it out, or correct one.",
                    field: "source"
                )
            }
            self = found
            return
        }
        guard let source else {
            throw Problem(
                .missingField,
                "source is required: the id to watch, or the url of a configured upstream.",
                field: "source"
            )
        }
        self.init(
            account: account ?? .main,
            source: source,
            kind: try SourceKind(named: kindText, of: source, code: .invalidValue)
        )
    }
}

extension SourceKind {
    /// The kind somebody named, or the one the id's prefix tells.
    init(
        named name: String?,
        of source: SourceID,
        code: ProblemCode
    ) throws(Problem) {
        let all = Self.allCases.map(\.rawValue).joined(separator: ", ")
        guard let name else {
            guard let inferred = SourceKind(inferredFrom: source) else {
                throw Problem(
                    code == .invalidValue ? .missingField : code,
                    "kind is required, because the id has none of Stripe's prefixes: \(all).",
                    field: "kind"
                )
            }
            self = inferred
            return
        }
        guard let kind = SourceKind(rawValue: name) else {
            throw Problem(code, "kind must be one of \(all).", field: "kind")
        }
        self = kind
    }
}

extension Problem {
    /// Runs a check of the domain; what it refuses is the client's problem.
    static func checked<Value>(
        _ code: ProblemCode = .invalidValue,
        _ check: () throws(InvalidInput) -> Value
    ) throws(Problem) -> Value {
        do throws(InvalidInput) {
            return try check()
        } catch {
            throw Problem(code, error)
        }
    }
}
