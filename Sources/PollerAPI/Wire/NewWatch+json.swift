import JSONText
import Poller
import PollerWire

extension NewWatch {
    /// Checks a request to watch something; `locator` tells whose a URL is.
    ///
    /// Errors: a ``Problem`` that names the field.
    init(_ request: WatchRequest, locator: (any SourceLocator)?) throws(Problem) {
        let key = try WatchKey(request, locator)
        let charge = try request.charge.map { order throws(Problem) in try ChargeOrder(order) }
        self = try Problem.checked { () throws(InvalidInput) in
            var urls: [NotifyURL] = []
            for (index, text) in (request.notify ?? []).enumerated() {
                let url = try NotifyURL(text, field: "notify[\(index)]")
                if !urls.contains(url) { urls.append(url) }
            }
            return try NewWatch(
                key: key,
                policy: try request.policy.map { name throws(InvalidInput) in
                    try PollPolicy(named: name.rawValue)
                } ?? .standard,
                goal: try request.until.map { name throws(InvalidInput) in
                    try WatchGoal(named: name.rawValue)
                } ?? .settled,
                timeout: request.timeout?.duration,
                notify: urls,
                clientSecret: try request.clientSecret.map { text throws(InvalidInput) in
                    try ClientSecret(text)
                },
                metadata: request.metadata.map { $0.isEmpty ? "" : $0.json.description } ?? "",
                charge: charge
            )
        }
    }
}

extension WatchKey {
    /// What a request names: `source` with its account and kind, or a `url`.
    fileprivate init(
        _ request: WatchRequest,
        _ locator: (any SourceLocator)?
    ) throws(Problem) {
        let source = try Problem.checked { () throws(InvalidInput) in
            try request.source.map { text throws(InvalidInput) in try SourceID(text) }
        }
        let account = try Problem.checked { () throws(InvalidInput) in
            try request.account.map { text throws(InvalidInput) in try AccountID(text) }
        }
        if let url = request.url {
            guard request.kind == nil || request.kind == Open(.http) else {
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
            kind: try SourceKind(named: request.kind?.rawValue, of: source, code: .invalidValue)
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
