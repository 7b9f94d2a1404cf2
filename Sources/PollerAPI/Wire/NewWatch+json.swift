import Poller

extension NewWatch {
    /// What `POST /v1/watches` reads, in the order documents list it.
    private static let fields = [
        "source", "account", "kind", "client_secret", "policy", "timeout", "notify", "charge",
        "metadata",
    ]
    /// What later versions will read.
    private static let fieldsOfLaterVersions = ["url"]

    /// Checks a request to watch something.
    ///
    /// Errors: a ``Problem`` that names the field.
    init(json: JSONValue) throws(Problem) {
        guard case .object(let members) = json else {
            throw Problem(
                .wrongType,
                "A watch must be an object such as {\"source\":\"src_…\"}, not \(json.typeName)."
            )
        }
        for member in members { try Self.checkKnown(member.name) }
        let body = RequestFields(members)
        guard let sourceText = try body.string("source") else {
            throw Problem(.missingField, "source is required: the id to watch.", field: "source")
        }
        let source = try Problem.checked { () throws(InvalidInput) in try SourceID(sourceText) }
        let account = try body.string("account")
        let policy = try body.string("policy")
        let secret = try body.string("client_secret")
        let key = WatchKey(
            account: try Problem.checked { () throws(InvalidInput) in
                try account.map { text throws(InvalidInput) in try AccountID(text) } ?? .main
            },
            source: source,
            kind: try SourceKind(named: try body.string("kind"), of: source, code: .invalidValue)
        )
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
        if fieldsOfLaterVersions.contains(name) {
            throw Problem(
                .unsupportedField,
                "\(name) is not supported yet by this version; leave it out.",
                field: name
            )
        }
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
