import Hummingbird
import Poller

extension APIContext {
    /// The watch that the path and the parameters `account` and `kind` name.
    func watchKey(_ query: QueryParameters) throws(Problem) -> WatchKey {
        let text = parameters.get("source") ?? ""
        let source = try Problem.checked(.invalidParameter) { () throws(InvalidInput) in
            try SourceID(text)
        }
        return WatchKey(
            account: try query.checked("account") { text throws(InvalidInput) in
                try AccountID(text)
            } ?? .main,
            source: source,
            kind: try SourceKind(named: query.text("kind"), of: source, code: .invalidParameter)
        )
    }
}

extension Problem {
    /// "Nobody watches it", with what to do.
    static func watchNotFound(_ key: WatchKey) -> Problem {
        Problem(
            .watchNotFound,
            "There is no watch of \(key.source) under account \(key.account); "
                + "enqueue it with POST /v1/watches, or name another account."
        )
    }
}
