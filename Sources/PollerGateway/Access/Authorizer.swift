import Crypto
import Logging
import NIOHTTP1
import PollerDeliveries
package import PollerIdentity
import PollerNet
package import PollerQueue
package import PollerWatches

/// Authorizes live connections by API key, stream token, or client secret of a source.
struct Authorizer: Sendable {
    /// Credentials that a client presents.
    enum Credentials: Hashable, Sendable {
        /// An API key or a stream token.
        case token(String)
        /// The client secret of a source.
        case secret(WatchKey, String)
    }

    /// The result of an authorization.
    enum Admission: Hashable, Sendable {
        case admitted(Principal)
        /// The credentials are invalid and will stay so.
        case refused(CloseCode, reason: String)
    }

    let keys: any Authenticator
    let tokens: (any StreamTokenVerifier)?
    let spent: any SpentTokens
    let secrets: any SourceSecrets
    let logger: Logger

    /// Returns the principal of a client without credentials, or `nil` if such clients are rejected.
    ///
    /// Without keys, only this machine is trusted. A page that reaches the gateway by another host name, or a proxy,
    /// does not count as this machine (``LocalRequest``).
    func anonymous(_ head: HTTPRequestHead, from address: IPAddress?) -> Principal? {
        guard let address, address.isLoopback,
            LocalRequest.isLocal(hosts: head.headers["host"], headers: head.headers.map(\.name))
        else { return nil }
        return keys.anonymous
    }

    /// Checks credentials.
    ///
    /// Invalid ones do not exclude a client that needs none (`anonymous`).
    func admit(_ credentials: Credentials, anonymous: Principal?) async -> Admission {
        let admission = await admit(credentials)
        if case .refused = admission, let anonymous { return .admitted(anonymous) }
        return admission
    }

    private func admit(_ credentials: Credentials) async -> Admission {
        switch credentials {
        case .token(let text):
            if let principal = await tokens?.principal(streamToken: text) {
                return await admit(tokenOf: principal)
            }
            if let principal = await keys.principal(token: text) { return .admitted(principal) }
            return .refused(
                .forbidden,
                reason:
                    "a key that is unknown or may not follow events, or a token that has expired"
            )
        case .secret(let key, let candidate): return await admit(key, candidate)
        }
    }

    /// A token from a URL may be in a log, and a reader of that log could present it here.
    private func admit(tokenOf principal: Principal) async -> Admission {
        do throws(StoreError) {
            guard try await !spent.isSpent(principal.name) else {
                return .refused(.forbidden, reason: "a token that was used in a URL; make another")
            }
            return .admitted(principal)
        } catch {
            logger.warning("token not looked up", metadata: ["error": "\(error)"])
            return .refused(.unavailable, reason: "the store cannot be reached")
        }
    }

    /// Checks the client secret of a source.
    ///
    /// An unwatched source, a source without a recorded secret, and a wrong secret give the same answer. A client
    /// without the secret must not learn which sources are watched.
    private func admit(_ key: WatchKey, _ candidate: String) async -> Admission {
        let secret: ClientSecret?
        do throws(StoreError) {
            secret = try await secrets.secret(of: key)
        } catch {
            logger.warning("client secret not looked up", metadata: ["error": "\(error)"])
            return .refused(.unavailable, reason: "the store cannot be reached")
        }
        // Digests are compared in constant time and reveal neither a length nor a common prefix.
        let presented = SHA256.hash(data: Array(candidate.utf8))
        let matches = SHA256.hash(data: Array((secret?.reveal ?? "").utf8)) == presented
        guard secret != nil, matches else {
            return .refused(.forbidden, reason: "this is not the secret of a watched source")
        }
        return .admitted(
            Principal(
                name: "\(key.account)/\(key.source)",
                accounts: .some([key.account]),
                credential: .clientSecret,
                sources: [key.source],
                view: .restricted
            )
        )
    }
}

/// Finds the holder of an API key.
package protocol Authenticator: Sendable {
    /// The principal of clients on this machine without a key, or `nil` if a key is required.
    var anonymous: Principal? { get }

    /// Returns the holder of a key, or `nil` for an unknown key or one that may not follow events.
    func principal(token: String) async -> Principal?

    /// The names of revoked keys, for a single consumer.
    var revoked: AsyncStream<String> { get }
}

extension Authenticator {
    /// An empty stream, for keys that cannot be revoked.
    package var revoked: AsyncStream<String> { AsyncStream { $0.finish() } }
}

/// Authorizes every client on this machine, for a system without configured keys.
package struct OpenAuthenticator: Authenticator {
    package let anonymous: Principal? = Principal(
        name: "anonymous",
        accounts: .all,
        credential: .none
    )

    /// Creates an authenticator without keys.
    package init() {}

    package func principal(token: String) async -> Principal? { nil }
}

/// Finds the client secrets of sources.
package protocol SourceSecrets: Sendable {
    /// Returns the recorded secret of a watch, or `nil` if there is none.
    ///
    /// The secret is unknown if the source is not watched, or if its secret was neither given nor observed. No client
    /// can then present it.
    func secret(of key: WatchKey) async throws(StoreError) -> ClientSecret?
}

/// The secrets given when sources were enqueued, and those observed by polls.
package struct WatchSecrets<Store: WatchStore>: SourceSecrets {
    private let watches: Store

    /// Reads the secrets from a store of watches.
    package init(_ watches: Store) {
        self.watches = watches
    }

    package func secret(of key: WatchKey) async throws(StoreError) -> ClientSecret? {
        try await watches.snapshot(of: key)?.watch.clientSecret
    }
}

/// The key or token in the headers of a request.
enum BearerToken {
    /// The prefix of a token among a WebSocket client's subprotocols.
    ///
    /// Browsers cannot set headers. All characters of a JWT are allowed in a subprotocol (RFC 6455 §4.1).
    static let subprotocolPrefix = "poller.token."

    /// Returns the token of `Authorization: Bearer …` or of a subprotocol, or `nil` if there is none.
    static func text(in head: HTTPRequestHead) -> String? {
        if let value = head.headers.first(name: "authorization"),
            value.lowercased().hasPrefix("bearer ")
        {
            return String(value.dropFirst("bearer ".count).drop { $0 == " " })
        }
        return head.headers[canonicalForm: "sec-websocket-protocol"]
            .first { $0.hasPrefix(subprotocolPrefix) }
            .map { String($0.dropFirst(subprotocolPrefix.count)) }
    }
}

/// Counts connections per client, so that one client cannot take all slots.
struct ConnectionSlots: Sendable {
    let limits: GatewayLimits
    private let slots = SlotCounter()

    init(_ limits: GatewayLimits) {
        self.limits = limits
    }

    /// Takes a slot for one more connection, or returns `nil` if the principal has too many.
    func takeSlot(for principal: Principal) -> SlotCounter.Slot? {
        let most =
            switch principal.credential {
            case .none, .key: limits.connectionsPerKeyMax > 0 ? limits.connectionsPerKeyMax : .max
            case .token: limits.connectionsPerTokenMax
            case .clientSecret: limits.connectionsPerSecretMax
            }
        return slots.take("\(principal.credential.rawValue) \(principal.name)", most: most)
    }
}
