import Foundation
import NIOCore
import NIOPosix
import PollerDeliveries
package import PollerIdentity
import PollerNet
import SafeNumbers

/// The SMTP relay: `POLLER_SMTP_URL`.
///
/// | URL | connection |
/// |---|---|
/// | `smtps://user:pass@host[:465]` | TLS from the start |
/// | `smtp://user:pass@host[:587]` | STARTTLS, without which nothing is sent |
/// | `smtp://127.0.0.1:25` | plain text, because the connection stays on this machine |
/// | `smtp://host:25?tls=off` | plain text, because the operator configured it |
///
/// A user and a password may be percent-encoded. The default port is 465 with TLS, 587 with a login, and 25
/// otherwise. STARTTLS is required, not opportunistic, because an attacker on the network could claim that the relay
/// does not support it. Errors never repeat the text of an invalid URL, because it may contain a password.
package struct SMTPRelay: Hashable, Sendable, CustomStringConvertible {
    /// The protection of the connection.
    enum Protection: Hashable, Sendable {
        case tls
        case startTLS
        case none
    }

    let host: String
    let port: Int
    let user: String?
    let password: String?
    let protection: Protection
    /// A PEM file with the trusted authorities; `nil` for the system's.
    package var authorities: String?

    /// Parses a relay's URL.
    package init(_ text: String) throws(InvalidInput) {
        guard text.utf8.count <= 1024,
            text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\\") }),
            let schemeEnd = text.range(of: "://")
        else { throw Self.invalid }
        let scheme = text[..<schemeEnd.lowerBound].lowercased()
        guard scheme == "smtp" || scheme == "smtps" else { throw Self.invalid }
        var rest = text[schemeEnd.upperBound...]
        var isOpen = false
        if let question = rest.firstIndex(of: "?") {
            guard rest[question...] == "?tls=off", scheme == "smtp" else {
                throw InvalidInput("smtp_url", "may only end in ?tls=off (with smtp://)")
            }
            isOpen = true
            rest = rest[..<question]
        }
        if rest.hasSuffix("/") { rest = rest.dropLast() }
        var credentials: (user: String, password: String)?
        if let at = rest.lastIndex(of: "@") {
            let parts = rest[..<at].split(
                separator: ":",
                maxSplits: 1,
                omittingEmptySubsequences: false
            )
            guard parts.count == 2, let first = parts.first, let last = parts.last else {
                throw InvalidInput("smtp_url", "must name user:password before @")
            }
            guard let user = first.removingPercentEncoding,
                let password = last.removingPercentEncoding,
                !(user + password).utf8.contains(where: { $0 < 0x20 || $0 == 0x7F })
            else {
                throw InvalidInput(
                    "smtp_url",
                    "has a user or password with a broken percent-encoding"
                )
            }
            credentials = (user, password)
            rest = rest[rest.index(after: at)...]
        }
        let (host, port) = try Self.hostAndPort(rest)
        self.host = host
        self.port = port ?? (scheme == "smtps" ? 465 : credentials == nil ? 25 : 587)
        (user, password) = (credentials?.user, credentials?.password)
        let isLocal = host == "localhost" || IPAddress(host)?.isLoopback == true
        protection = scheme == "smtps" ? .tls : isOpen || isLocal ? .none : .startTLS
    }

    /// The credentials to redact from responses, in which the relay may repeat them.
    ///
    /// They are included in plain text and as encoded for a login (RFC 4616, and LOGIN).
    var credentialRedaction: Redaction {
        guard let password else { return .none }
        let login = "\0\(user ?? "")\0\(password)"
        return Redaction(
            [password] + [password, login].map { Data($0.utf8).base64EncodedString() }
        )
    }

    /// The URL without its credentials, for libcurl and logs.
    package var description: String {
        let bracketed = host.contains(":") ? "[\(host)]" : host
        return "\(protection == .tls ? "smtps" : "smtp")://\(bracketed):\(port)"
    }

    private static func hostAndPort(
        _ text: Substring
    ) throws(InvalidInput) -> (String, Int?) {
        var host = text
        var port: Int?
        if let colon = text.lastIndex(of: ":"), !text.hasSuffix("]") {
            host = text[..<colon]
            port = Int(decimal: text[text.index(after: colon)...])
            guard let port, (1...65_535).contains(port) else { throw invalid }
        }
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
            guard IPAddress(String(host)) != nil else { throw invalid }
            return (host.lowercased(), port)
        }
        guard !host.isEmpty, host.utf8.allSatisfy(IdentifierSyntax.isAllowed) else { throw invalid }
        return (host.lowercased(), port)
    }

    /// The error for an invalid URL, which never quotes it because it may contain a password.
    private static let invalid = InvalidInput(
        "smtp_url",
        "must be smtp://[user:password@]host[:port] or smtps://…"
    )
}

extension SMTPRelay {
    /// Connects to the relay and closes the connection, to check whether it can be reached.
    ///
    /// It sends nothing, because a relay may count greetings against the client. Throws the error of the connection
    /// attempt within 5 s.
    package func probe() async throws {
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connectTimeout(.seconds(5))
            .connect(host: host, port: port)
            .get()
        try await channel.close()
    }
}
