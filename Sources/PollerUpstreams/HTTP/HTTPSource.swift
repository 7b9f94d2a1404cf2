import Foundation
import Poller
package import PollerIdentity
import PollerNet
package import PollerQueue

/// An upstream that answers JSON, described by configuration alone.
///
/// Watches name it by their account and `kind: http`; it is one lane, so give each host one.
package struct HTTPSource: Sendable {
    /// What watches call it.
    package let name: AccountID
    /// What may be asked at once and in a second.
    package let limit: LaneLimit
    let template: URLTemplate
    let status: JSONPointer
    private let final: Set<SourceStatus>
    /// Statuses that the configuration names, spelled as there.
    private let named: Set<SourceStatus>
    let payment: HTTPPayment?
    let headers: [Header]
    let timeout: Duration
    /// Takes out of answers what every request carries in confidence.
    ///
    /// The object that is recorded is for viewers, too. A shorter value is rather a word than a credential, and the object may have that word.
    let confidences: Redaction
    private static let confidenceBytesMin = 8

    /// A header of every request; its value never shows itself.
    package struct Header: Sendable, CustomStringConvertible, CustomReflectable {
        let name: String
        let value: String

        /// Checks that both can stand in a request.
        package init(_ name: String, _ value: String) throws(InvalidInput) {
            let isName = name.utf8.allSatisfy { byte in
                (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte | 0x20)
                    || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
            }
            let owned = ["host", "content-length", "transfer-encoding", "connection"]
            guard isName, !name.isEmpty, !owned.contains(name.lowercased()) else {
                throw InvalidInput(field: "headers", message: "may not set \(name.prefix(64))")
            }
            guard value.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }), value.utf8.count <= 4096
            else {
                throw InvalidInput(
                    field: "headers",
                    message: "\(name) must be at most 4096 printable ASCII characters"
                )
            }
            self.name = name
            self.value = value
        }

        /// Whether its value may be a credential: what says what is wanted is none, and is found in answers.
        var isConfidential: Bool {
            let name = name.lowercased()
            return !name.hasPrefix("accept") && !name.hasSuffix("version")
                && !["content-type", "user-agent"].contains(name)
        }

        /// The name alone.
        package var description: String { name }

        /// Shows the description instead of the value.
        package var customMirror: Mirror { Mirror(self, children: ["name": name]) }
    }

    /// Describes an upstream.
    ///
    /// - Parameters:
    ///   - name: what watches call it.
    ///   - url: where one source is, `{id}` standing for the source.
    ///   - status: where in the answer the status is.
    ///   - final: the statuses that cannot change any more, compared as ``SourceStatus`` are: without case, and
    ///     without blanks at their ends.
    ///   - payment: what of the answer is the payment; nil when nobody can tell.
    ///   - headers: of every request.
    ///   - timeout: for everything from the name's resolution to the last byte.
    ///   - limit: what may be asked at once and in a second.
    /// - Throws: ``InvalidInput`` naming the first part that is wrong.
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
                field: "final",
                message: "must name the statuses that end a watch, or none ever does"
            )
        }
        self.final = try Self.statuses(final)
        // What ends a watch is spelled as there, whatever a map says.
        let words = payment.flatMap { $0.state == status ? $0.known : nil } ?? []
        named = self.final.union(words)
        self.payment = payment
        self.headers = headers
        self.timeout = timeout
        self.limit = limit
        confidences = Redaction(
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
                    field: "final",
                    message: "has a status that no answer can match: it \(error.message)"
                )
            }
        }
        return statuses
    }

    /// The status that an answer has, spelled as the configuration has it where it names it, and whether it ends a
    /// watch.
    func known(_ found: String) throws(InvalidInput) -> (status: SourceStatus, isFinal: Bool) {
        let status = try SourceStatus(found)
        let known = named.firstIndex(of: status).map { named[$0] }
        return (known ?? status, final.contains(status))
    }

    /// The lane of its watches.
    package var lane: LaneID { LaneID(account: name, kind: .http) }
}

/// The configured upstreams, and which of them a URL belongs to.
///
/// Found by the URL as it would be requested (``HTTPTarget``), so that a host in capitals or a port
/// that is written out is the same place; a URL of two upstreams is refused until one is named.
///
/// A URL stands for an upstream's name and a source's id: nothing else of it is kept, and a poll
/// asks what the configuration says, with the headers that belong there.
package struct HTTPSources: SourceLocator {
    private let sources: [HTTPSource]

    /// Looks through `sources`.
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

    /// Without an upstream here, whoever polls may have them in a configuration of their own.
    package func check(_ key: WatchKey, among accounts: AccountSet) throws(InvalidInput) {
        let names = sources.map(\.name)
        guard key.kind == .http, !names.isEmpty, !names.contains(key.account) else { return }
        throw .unknownAccount(key.account, among: names.filter(accounts.contains))
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

/// The URL of one source, with `{id}` where its id goes: in the path or the query, so that no id
/// can choose the host.
struct URLTemplate: Hashable, Sendable {
    private let before: String
    private let after: String
    /// What a source's URL begins with: scheme, host and port written in one way.
    private let start: String
    /// Where its sources are, and what their paths begin and end with: what every poll needs.
    private let place: HTTPTarget
    private let pathBefore: String
    private let pathAfter: String

    /// Checks a template by filling it in.
    init(_ text: String) throws(InvalidInput) {
        let parts = text.split(separator: "{id}", omittingEmptySubsequences: false)
        guard parts.count == 2, let head = parts.first, let tail = parts.last,
            !text.replacing("{id}", with: "").contains(where: "{}".contains)
        else {
            throw InvalidInput(
                field: "url",
                message: "must contain {id} once, as https://host/payments/{id}"
            )
        }
        before = String(head)
        after = String(tail)
        let scheme = before.hasPrefix("https://") ? 8 : before.hasPrefix("http://") ? 7 : 0
        guard scheme > 0, before.dropFirst(scheme).contains("/") else {
            throw InvalidInput(
                field: "url",
                message: "must be http or https, with {id} after the host"
            )
        }
        guard !text.contains("#"), !text.contains("@") else {
            throw InvalidInput(field: "url", message: "may have no fragment and no user name")
        }
        let example = try HTTPTarget(try NotifyURL(before + "id" + after, field: "url"))
        start = String(example.url.dropLast(2 + after.count))
        place = example
        pathBefore = try HTTPTarget(try NotifyURL(before, field: "url")).path
        pathAfter = String(example.path.dropFirst(pathBefore.count + 2))
    }

    /// What a parameter's name has in it whose value is a credential.
    private static let credentialNames = [
        "key", "token", "secret", "pass", "auth", "sig", "credential",
    ]

    /// The values in its query that are the same for every source and named like credentials, as they are
    /// sent and as they are meant.
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

    /// The source whose URL this is; nil when it is none of this template.
    func source(at target: HTTPTarget) -> SourceID? {
        let url = target.url
        guard url.hasPrefix(start), url.hasSuffix(after), url.count > start.count + after.count
        else { return nil }
        let id = url.dropFirst(start.count).dropLast(after.count)
        // What is no id, a slash or a percent sign in it, would address something else.
        guard let source = try? SourceID(String(id)), id != ".", id != ".." else { return nil }
        return source
    }

    /// Where a source is; an id has no character that would need encoding.
    func target(of source: SourceID) throws(InvalidInput) -> HTTPTarget {
        // As a segment of its own a dot id would address something else.
        let id = source.description
        guard id != ".", id != ".." else {
            throw InvalidInput(field: "source", message: "is a dot segment")
        }
        return HTTPTarget(place, path: pathBefore + id + pathAfter)
    }
}
