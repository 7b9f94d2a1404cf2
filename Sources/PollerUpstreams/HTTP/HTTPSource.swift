import Foundation
import Poller
import PollerDeliveries
package import PollerIdentity
import PollerNet
import PollerPayments
package import PollerQueue

/// An upstream that returns JSON, described only by configuration.
///
/// Watches refer to it by account and `kind: http`. Each upstream is one lane, so configure one per host.
package struct HTTPSource: Sendable {
    /// The name that watches use as their account.
    package let name: AccountID
    /// The limits for concurrent requests and requests per second.
    package let limit: LaneLimit
    let template: URLTemplate
    let status: JSONPointer
    private let final: Set<SourceStatus>
    /// The statuses that the configuration names, in its spelling.
    private let named: Set<SourceStatus>
    let payment: HTTPPayment?
    let headers: [Header]
    let timeout: Duration
    /// Removes the credentials of requests from responses.
    ///
    /// Viewers can read the recorded object, so it must not repeat a credential. Values shorter than eight bytes stay,
    /// because they are more likely ordinary words that the object may contain than credentials.
    let credentialRedaction: Redaction
    private static let confidenceBytesMin = 8

    /// A header of every request, which never reveals its value in descriptions.
    package struct Header: Sendable, CustomStringConvertible, CustomReflectable {
        let name: String
        let value: String

        /// Creates a header after checking that the name and the value are allowed in a request.
        package init(_ name: String, _ value: String) throws(InvalidInput) {
            let isName = name.utf8.allSatisfy { byte in
                (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte | 0x20)
                    || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
            }
            let owned = ["host", "content-length", "transfer-encoding", "connection"]
            guard isName, !name.isEmpty, !owned.contains(name.lowercased()) else {
                throw InvalidInput("headers", "may not set \(name.prefix(64))")
            }
            guard value.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }), value.utf8.count <= 4096
            else {
                throw InvalidInput(
                    "headers",
                    "\(name) must be at most 4096 printable ASCII characters"
                )
            }
            self.name = name
            self.value = value
        }

        /// Whether the value may be a credential.
        ///
        /// Headers that only describe the request, such as `Accept`, are excluded. Their values often appear in
        /// responses.
        var isConfidential: Bool {
            let name = name.lowercased()
            return !name.hasPrefix("accept") && !name.hasSuffix("version")
                && !["content-type", "user-agent"].contains(name)
        }

        /// The name, without the value.
        package var description: String { name }

        /// A mirror that shows only the name.
        package var customMirror: Mirror { Mirror(self, children: ["name": name]) }
    }

    /// Creates an upstream.
    ///
    /// - Parameters:
    ///   - name: the name that watches use as their account.
    ///   - url: the URL of one source, with `{id}` as the placeholder for the source ID.
    ///   - status: the location of the status in the response.
    ///   - final: the statuses that cannot change any more, compared like ``SourceStatus``: without case and
    ///     surrounding blanks.
    ///   - payment: the location of the payment in the response; `nil` if it is unknown.
    ///   - headers: the headers of every request.
    ///   - timeout: the limit for the whole request, from name resolution to the last byte.
    ///   - limit: the limits for concurrent requests and requests per second.
    /// - Throws: ``InvalidInput`` that names the first invalid part.
    package init(
        name: AccountID,
        url: String,
        status: JSONPointer,
        final: Set<String>,
        payment: HTTPPayment? = nil,
        headers: [Header] = [],
        timeout: Duration,
        limit: LaneLimit
    ) throws(InvalidInput) {
        self.name = name
        template = try URLTemplate(url)
        self.status = status
        guard !final.isEmpty else {
            throw InvalidInput(
                "final",
                "must list the final statuses; otherwise no watch ever ends"
            )
        }
        self.final = try Self.statuses(final)
        // The spelling in `final` takes precedence over the spelling in the payment map.
        let words = payment.flatMap { $0.state == status ? $0.known : nil } ?? []
        named = self.final.union(words)
        self.payment = payment
        self.headers = headers
        self.timeout = timeout
        self.limit = limit
        credentialRedaction = Redaction(
            headers.filter(\.isConfidential).map(\.value) + template.credentials,
            bytesMin: Self.confidenceBytesMin
        )
    }

    private static func statuses(_ texts: Set<String>) throws(InvalidInput) -> Set<SourceStatus> {
        var statuses: Set<SourceStatus> = []
        for text in texts.sorted() {
            do throws(InvalidInput) {
                statuses.insert(try SourceStatus(text))
            } catch {
                throw InvalidInput(
                    "final",
                    "has a status that no response can match: it \(error.message)"
                )
            }
        }
        return statuses
    }

    /// Returns the status of a response and whether it is final.
    ///
    /// A status that the configuration names gets the spelling of the configuration.
    func known(_ found: String) throws(InvalidInput) -> (status: SourceStatus, isFinal: Bool) {
        let status = try SourceStatus(found)
        let known = named.firstIndex(of: status).map { named[$0] }
        return (known ?? status, final.contains(status))
    }

    /// The lane of this upstream's watches.
    package var lane: LaneID { LaneID(account: name, kind: .http) }
}

/// The configured upstreams, which map a URL to its upstream and source.
///
/// A URL is compared in its requested form (``HTTPTarget``), so an upper-case host or an explicit default port makes
/// no difference. A URL that matches two upstreams is rejected unless the caller names the account.
///
/// A URL only identifies an upstream and a source ID, and no other part of it is stored. A poll requests the
/// configured URL with the headers configured for it.
package struct HTTPSources: SourceLocator {
    private let sources: [HTTPSource]

    /// Creates a locator for `sources`.
    package init(_ sources: [HTTPSource]) {
        self.sources = sources
    }

    package func key(
        of url: String,
        account: AccountID?,
        among accounts: AccountSet
    ) throws(InvalidInput) -> WatchKey {
        guard accounts.isAll else {
            let own = HTTPSources(sources.filter { accounts.contains($0.name) })
            return try own.key(of: url, account: account, among: .all)
        }
        guard !url.contains("#") else { throw InvalidInput("url", "may have no fragment") }
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
                "url",
                "belongs to several upstreams (\(names)): name one of them as account"
            )
        }
        return key
    }

    /// Rejects an upstream that is not configured.
    ///
    /// If this process has no upstreams at all, the check passes, because the workers may have them in their own
    /// configuration.
    package func check(_ key: WatchKey, among accounts: AccountSet) throws(InvalidInput) {
        let names = sources.map(\.name)
        guard key.kind == .http, !names.isEmpty, !names.contains(key.account) else { return }
        throw .unknownAccount(key.account, among: names.filter(accounts.contains))
    }

    /// Returns the error for a URL that matches no upstream.
    ///
    /// It contains only names, because a template may contain a token.
    private func unknown(_ account: AccountID?) -> InvalidInput {
        let names = sources.map(\.name.description).joined(separator: ", ")
        let message: String
        if let account, sources.contains(where: { $0.name == account }) {
            message =
                "does not belong to upstream \(account): compare it with the url in the "
                + "configuration"
        } else if let account {
            message = "needs an upstream \(account), which is not configured (\(names))"
        } else {
            message =
                sources.isEmpty
                ? "needs an upstream: describe it under upstreams in the configuration file"
                : "matches no configured upstream (\(names)): describe it under upstreams in the "
                    + "configuration file"
        }
        return InvalidInput("url", message)
    }
}

/// The URL of one source, with `{id}` as the placeholder for its ID.
///
/// The placeholder must be in the path or the query, so that an ID cannot change the host.
struct URLTemplate: Hashable, Sendable {
    private let before: String
    private let after: String
    /// The start of each source's URL: normalised scheme, host and port, and the text up to the ID.
    private let start: String
    /// The target of an example source, with the path parts that every poll combines with an ID.
    private let exampleTarget: HTTPTarget
    private let pathBefore: String
    private let pathAfter: String

    /// Creates a template after checking that a filled-in example is a valid URL.
    init(_ text: String) throws(InvalidInput) {
        let parts = text.split(separator: "{id}", omittingEmptySubsequences: false)
        guard parts.count == 2, let head = parts.first, let tail = parts.last,
            !text.replacing("{id}", with: "").contains(where: "{}".contains)
        else { throw InvalidInput("url", "must contain {id} once, as https://host/payments/{id}") }
        before = String(head)
        after = String(tail)
        let scheme = before.hasPrefix("https://") ? 8 : before.hasPrefix("http://") ? 7 : 0
        guard scheme > 0, before.dropFirst(scheme).contains("/") else {
            throw InvalidInput("url", "must be http or https, with {id} after the host")
        }
        guard !text.contains("#"), !text.contains("@") else {
            throw InvalidInput("url", "may have no fragment and no user name")
        }
        let example = try HTTPTarget(try NotifyURL(before + "id" + after, field: "url"))
        start = String(example.url.dropLast(2 + after.count))
        exampleTarget = example
        pathBefore = try HTTPTarget(try NotifyURL(before, field: "url")).path
        pathAfter = String(example.path.dropFirst(pathBefore.count + 2))
    }

    /// The substrings of parameter names whose values are treated as credentials.
    private static let credentialNames = [
        "key", "token", "secret", "pass", "auth", "sig", "credential",
    ]

    /// The values of constant query parameters with names like credentials, both percent-encoded and decoded.
    var credentials: [String] {
        (before + "{id}" + after).split(separator: "?").dropFirst().joined(separator: "?")
            .split(separator: "&")
            .flatMap { parameter -> [String] in
                guard let sign = parameter.firstIndex(of: "=") else { return [] }
                let name = parameter[..<sign].lowercased()
                let value = String(parameter[parameter.index(after: sign)...])
                guard !value.isEmpty, !value.contains("{id}"),
                    Self.credentialNames.contains(where: name.contains)
                else { return [] }
                return [value, value.removingPercentEncoding].compactMap(\.self)
            }
    }

    /// Returns the source with this URL, or `nil` if the URL does not match the template.
    func source(at target: HTTPTarget) -> SourceID? {
        let url = target.url
        guard url.hasPrefix(start), url.hasSuffix(after), url.count > start.count + after.count
        else { return nil }
        let id = url.dropFirst(start.count).dropLast(after.count)
        // A text that is not a valid ID, for example with a slash or a percent sign, would address another resource.
        guard let source = try? SourceID(String(id)), id != ".", id != ".." else { return nil }
        return source
    }

    /// Returns the target of a source; no character of an ID needs encoding.
    func target(of source: SourceID) throws(InvalidInput) -> HTTPTarget {
        // A dot ID as a path segment would address another resource.
        let id = source.description
        guard id != ".", id != ".." else { throw InvalidInput("source", "is a dot segment") }
        return HTTPTarget(exampleTarget, path: pathBefore + id + pathAfter)
    }
}

extension InvalidInput {
    /// Returns the error for an account that is not configured.
    ///
    /// `names` are the configured accounts that the caller may see.
    static func unknownAccount(_ account: AccountID, among names: [AccountID]) -> InvalidInput {
        let known = names.map(\.description).joined(separator: ", ")
        return InvalidInput(
            "account",
            "names \(account), which is not configured"
                + (known.isEmpty ? "" : " (configured: \(known))")
                + ": correct it, or give it a key under accounts in the configuration file"
        )
    }
}
