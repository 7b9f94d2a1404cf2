import PollerHTTP
package import PollerIdentity
import SafeNumbers

/// The parts of an HTTP URL, parsed by rules so narrow that every parser agrees on the host.
///
/// *Problem*: the guard judges the addresses of the host that this type parses, and the HTTP client
/// connects to the host that it parses. If two parsers differ, the guard may check one host while
/// the client connects to another: `http://a%2eb/`, `http://[fe80::1%25eth0]/`,
/// `http://①②⑦.⓪.⓪.①/`. *Approach*: a name consists of letters, digits, `-`, `.` and `_`. An
/// address in brackets is one that the system parses as IPv6, and a port is digits. Everything else
/// is rejected. The requested URL is then assembled from the parts.
package struct HTTPTarget: Hashable, Sendable {
    /// Whether it is `https`.
    package let isSecure: Bool
    /// Lower case, without the brackets of an IPv6 address.
    package let host: String
    /// The given port, or the default of the scheme.
    package let port: Int
    /// Scheme, host and port, all written out.
    private let origin: String
    /// The same for the HTTP client.
    let destination: HTTPOrigin
    /// Path and query as given.
    private let requested: String
    /// Path and query of the request line, with ``escaped`` characters encoded.
    package let path: String

    /// Parses a URL.
    package init(_ notify: NotifyURL) throws(InvalidInput) {
        isSecure = notify.scheme == "https"
        let rest = notify.description.dropFirst(notify.scheme.utf8.count + 3)
        let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        let target = rest[authority.endIndex...].prefix { $0 != "#" }
        let portText: Substring?
        let hostText: Substring
        if authority.hasPrefix("[") {
            guard let end = authority.firstIndex(of: "]") else { throw Self.badHost }
            hostText = authority[authority.index(after: authority.startIndex)..<end]
            let tail = authority[authority.index(after: end)...]
            guard tail.isEmpty || tail.hasPrefix(":") else { throw Self.badHost }
            portText = tail.isEmpty ? nil : tail.dropFirst()
            guard hostText.contains(":"), IPAddress(String(hostText)) != nil else {
                throw Self.badHost
            }
        } else {
            let parts = authority.split(
                separator: ":",
                maxSplits: 1,
                omittingEmptySubsequences: false
            )
            hostText = parts.first ?? ""
            portText = parts.count == 2 ? parts[1] : nil
            // Parsers differ on a percent sign, a zone ID or a non-ASCII digit, so these are
            // rejected.
            let isPlain = hostText.utf8.allSatisfy(IdentifierSyntax.isAllowed)
            guard isPlain, (1...253).contains(hostText.utf8.count) else { throw Self.badHost }
        }
        host = hostText.lowercased()
        if let portText {
            guard portText.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
                let port = Int(decimal: portText), (1...65_535).contains(port)
            else { throw InvalidInput("url", "has no port between 1 and 65535") }
            self.port = port
        } else {
            port = isSecure ? 443 : 80
        }
        // Written out with its port, so that the client has nothing left to infer.
        let bracketed = host.contains(":") ? "[\(host)]" : host
        origin = "\(notify.scheme)://\(bracketed):\(port)"
        destination = HTTPOrigin(isSecure: isSecure, host: host, port: port)
        requested = target.hasPrefix("/") ? String(target) : "/\(target)"
        path = Self.encoded(requested)
    }

    /// Makes a target on the same host with another path and query, which need no encoding.
    package init(_ other: HTTPTarget, path: String) {
        isSecure = other.isSecure
        host = other.host
        port = other.port
        origin = other.origin
        destination = other.destination
        requested = path
        self.path = path
    }

    /// The whole URL as it is requested, without a fragment.
    package var url: String { origin + requested }

    /// Characters that are not allowed in a URL (RFC 3986) and that some servers reject, though
    /// people use them.
    private static let escaped = Set("\"<>^`{|}".utf8)

    private static func encoded(_ target: String) -> String {
        guard target.utf8.contains(where: escaped.contains) else { return target }
        return String(
            decoding: target.utf8.flatMap { byte in
                escaped.contains(byte)
                    ? Array("%\(String(byte, radix: 16, uppercase: true))".utf8) : [byte]
            },
            as: UTF8.self
        )
    }

    private static let badHost = InvalidInput(
        "url",
        "has a host that is neither a plain name nor an address in brackets"
    )
}
