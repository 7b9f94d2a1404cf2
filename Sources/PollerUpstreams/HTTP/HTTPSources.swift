package import Poller
import PollerNet

/// The configured upstreams, and which of them a URL belongs to.
///
/// A URL stands for an upstream's name and a source's id: nothing else of it is kept, and a poll
/// asks what the configuration says, with the headers that belong there.
package struct HTTPSources: SourceLocator {
    private let sources: [HTTPSource]

    /// Looks through `sources`.
    package init(_ sources: [HTTPSource]) {
        self.sources = sources
    }

    package func key(of url: String, account: AccountID?) throws(InvalidInput) -> WatchKey {
        guard !url.contains("#") else {
            throw InvalidInput(field: "url", message: "may have no fragment")
        }
        let target = try HTTPTarget(try NotifyURL(url, field: "url"))
        let candidates = sources.filter { account == nil || $0.name == account }
        let found = candidates.compactMap { source in
            source.template.source(at: target).map { id in
                WatchKey(account: source.name, source: id, kind: .http)
            }
        }
        guard let key = found.first else { throw unknown(account) }
        guard found.count == 1 else {
            let names = found.map(\.account.description).joined(separator: ", ")
            throw InvalidInput(
                field: "url",
                message: "belongs to several upstreams (\(names)): name one of them as account"
            )
        }
        return key
    }

    /// Names only: a template may hold a token.
    private func unknown(_ account: AccountID?) -> InvalidInput {
        let names = sources.map(\.name.description).joined(separator: ", ")
        let message: String
        if let account, sources.contains(where: { $0.name == account }) {
            message =
                "is none of upstream \(account)'s: compare it with its url in the configuration"
        } else if let account {
            message = "needs an upstream \(account), which is not configured (\(names))"
        } else {
            message =
                sources.isEmpty
                ? "needs an upstream: describe it under upstreams in the configuration file"
                : "matches no configured upstream (\(names)): describe it under upstreams in the "
                    + "configuration file"
        }
        return InvalidInput(field: "url", message: message)
    }
}
