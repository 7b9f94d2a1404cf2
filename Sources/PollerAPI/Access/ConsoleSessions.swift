import Crypto
import HTTPTypes
import Hummingbird
import PollerIdentity
package import PollerOperations
import SafeNumbers

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The sessions of the console: an encrypted API key in a cookie.
///
/// A new tab of the same browser profile is then signed in.
///
/// *Problem*: a key in the storage of a tab is not available in the next tab, so a link from a colleague asks for it
/// again. A key in the storage of the whole origin could be read by any script there, and outlives the browser.
///
/// *Approach*: the cookie holds the key, encrypted (AES-GCM) with a key of the cluster. So every API process can
/// decrypt it, and no process has to store it. No script can read it (`HttpOnly`). It ends with the browser, and after
/// ``span`` in any case. A revoked key ends its sessions, because each request looks up the key itself.
///
/// *Other sites* cannot use it. Browsers do not send it with requests of other sites (`SameSite=Strict`). It counts
/// only in requests with the header `Poller-Console`, which a page of another origin cannot set without a CORS
/// preflight, and this API never allows that. A cookie is sent to every port of a host. A program that receives it
/// there cannot read the key, but can send requests to this API with it until it ends.
///
/// *Rejected*: an identifier that the store knows. Signing in would need a write, and an unavailable store would sign
/// out every user.
package struct ConsoleSessions: Sendable {
    /// The lifetime of a cookie: a working day.
    static let span = Duration.seconds(12 * 3600)

    private let keys: RootKeys

    /// Creates the sessions of a cluster.
    ///
    /// Its processes share the roots.
    package init(roots: RootRing) {
        keys = RootKeys("poller console session", from: roots, span: Self.span)
    }

    /// Sessions with a random root, which end with this process.
    package static var ephemeral: ConsoleSessions {
        var generator = SystemRandomNumberGenerator()
        let root = (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        return ConsoleSessions(roots: RootRing(fixed: root))
    }

    /// Returns the `Set-Cookie` value that signs a browser in with an API key.
    func cookie(_ key: String, for request: Request, at now: Timestamp) -> String? {
        let isSecure = Self.isSecure(request)
        let name = Self.name(request, isSecure: isSecure)
        let end = now + Self.span
        let sealed = try? AES.GCM.seal(
            Array("\(end.ms) \(key)".utf8),
            using: keys.current,
            authenticating: Array(name.utf8)
        ).combined
        guard let sealed else { return nil }
        return "\(name)=\(Base64URL.encode(Array(sealed))); \(Self.attributes(isSecure: isSecure))"
    }

    /// Returns the `Set-Cookie` values that sign a browser out, one for each possible cookie name.
    static func endings(_ request: Request) -> [String] {
        [true, false].map { isSecure in
            "\(name(request, isSecure: isSecure))=; Max-Age=0; \(attributes(isSecure: isSecure))"
        }
    }

    /// Returns the API key of a console request; `nil` for any other request, and for an expired cookie.
    func key(of request: Request, at now: Timestamp) -> String? {
        guard request.headers[.pollerConsole] != nil, Self.isOfSameOrigin(request) else {
            return nil
        }
        for isSecure in [true, false] {
            let name = Self.name(request, isSecure: isSecure)
            if let found = key(in: name, of: request, at: now) { return found }
        }
        return nil
    }

    /// Returns the API key in the cookie with this name.
    private func key(in name: String, of request: Request, at now: Timestamp) -> String? {
        let shown = request.headers[values: .cookie]
            .flatMap { $0.split(separator: ";") }
            .map { $0.drop { $0 == " " } }
            .first { $0.hasPrefix("\(name)=") }?.dropFirst(name.utf8.count + 1)
        guard let shown, let bytes = Base64URL.decode(shown),
            let box = try? AES.GCM.SealedBox(combined: Data(bytes))
        else { return nil }
        for key in keys.accepted {
            let opened = try? AES.GCM.open(box, using: key, authenticating: Array(name.utf8))
            guard let opened else { continue }
            let parts = String(decoding: opened, as: UTF8.self)
                .split(separator: " ", maxSplits: 1)
            guard parts.count == 2, let end = Int64(decimal: parts[0]), now.ms < end else {
                return nil
            }
            return String(parts[1])
        }
        return nil
    }

    /// Returns whether the request comes from the same origin, as far as the browser reports it.
    static func isOfSameOrigin(_ request: Request) -> Bool {
        request.headers[.secFetchSite].map { $0 == "same-origin" } ?? true
    }

    /// Returns the cookie name, which includes port and path because cookies are shared across them.
    ///
    /// `__Host-` limits the cookie to this host and TLS (RFC 6265bis §4.1.3.2). On the local machine the name has no
    /// prefix.
    private static func name(_ request: Request, isSecure: Bool) -> String {
        let port =
            (request.head.authority ?? "").split(separator: ":").last
            .flatMap { UInt16(decimal: $0) }.map { "-\($0)" } ?? ""
        let path = BasePath.current.description.replacing("/", with: "-")
        return "\(isSecure ? "__Host-" : "")poller-console\(path)\(port)"
    }

    private static func attributes(isSecure: Bool) -> String {
        "Path=/; HttpOnly; SameSite=Strict\(isSecure ? "; Secure" : "")"
    }

    /// Returns whether the cookie requires TLS, as on every page that is not served by the local machine.
    ///
    /// Browsers send the page's own address as `Origin` with every POST. `Host` is not reliable: a proxy may set it to
    /// the server's address, so that every page looks local.
    private static func isSecure(_ request: Request) -> Bool {
        let (origin, plain) = ((request.headers[.origin] ?? "").lowercased(), "http://")
        guard origin.hasPrefix(plain) else { return true }
        let authority = origin.dropFirst(plain.count)
        let host =
            authority.hasPrefix("[")
            ? authority.dropFirst().prefix { $0 != "]" } : authority.prefix { $0 != ":" }
        return !ListenAddress.isLoopback(host: host)
    }
}
