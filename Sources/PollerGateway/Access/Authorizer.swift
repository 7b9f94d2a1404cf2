import Crypto
import Logging
import NIOHTTP1
package import Poller
package import PollerIdentity
import PollerNet
package import PollerQueue

/// Decides who may listen: holders of API keys, of stream tokens and of a source's own secret.
struct Authorizer: Sendable {
    /// What somebody shows.
    enum Credentials: Hashable, Sendable {
        /// An API key or a stream token.
        case token(String)
        /// A source's own secret.
        case secret(WatchKey, String)
    }

    /// What comes of it.
    enum Admission: Hashable, Sendable {
        case admitted(Principal)
        /// These credentials are not good, and will not be.
        case refused(CloseCode, reason: String)
    }

    let keys: any Authenticator
    let tokens: (any StreamTokenVerifier)?
    let spent: any SpentTokens
    let secrets: any SourceSecrets
    let logger: Logger

    /// Who a client without credentials is; nil when such clients are refused.
    ///
    /// Without keys this machine is trusted, whatever else a request shows: neither a page that
    /// reaches us by a name of its own nor a proxy is this machine (``LocalRequest``).
    func anonymous(_ head: HTTPRequestHead, from address: IPAddress?) -> Principal? {
        guard let address, address.isLoopback,
            LocalRequest.isLocal(hosts: head.headers["host"], headers: head.headers.map(\.name))
        else { return nil }
        return keys.anonymous
    }

    /// Looks credentials up; bad ones do not lock out somebody who needs none (`known`).
    func admit(_ credentials: Credentials, known: Principal?) async -> Admission {
        let admission = await admit(credentials)
        if case .refused = admission, let known { return .admitted(known) }
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

    /// A token that has stood in a URL may stand in a log, and whoever reads that could show it here.
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

    /// Says the same of a source that nobody watches, one whose secret is not on record, and a
    /// wrong secret: a client without the secret must not learn what is watched.
    private func admit(_ key: WatchKey, _ candidate: String) async -> Admission {
        let secret: ClientSecret?
        do throws(StoreError) {
            secret = try await secrets.secret(of: key)
        } catch {
            logger.warning("client secret not looked up", metadata: ["error": "\(error)"])
            return .refused(.unavailable, reason: "the store cannot be reached")
        }
        // Digests are compared in constant time, and tell neither a length nor a common beginning.
        let shown = SHA256.hash(data: Array(candidate.utf8))
        let isRight = SHA256.hash(data: Array((secret?.reveal ?? "").utf8)) == shown
        guard secret != nil, isRight else {
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

/// Knows whose an API key is.
package protocol Authenticator: Sendable {
    /// Who may connect from this machine without a key; nil when nobody may.
    var anonymous: Principal? { get }

    /// Whose key this is; nil when nobody has this token, or it may not follow events.
    func principal(token: String) async -> Principal?

    /// The names of keys that are not good any more, for one listener.
    var revoked: AsyncStream<String> { get }
}

extension Authenticator {
    /// Of keys that nobody can revoke.
    package var revoked: AsyncStream<String> { AsyncStream { $0.finish() } }
}

/// Lets everybody on this machine in: a system for which no keys are configured.
package struct OpenAuthenticator: Authenticator {
    package let anonymous: Principal? = Principal(
        name: "anonymous",
        accounts: .all,
        credential: .none
    )

    /// An authenticator that knows no keys.
    package init() {}

    package func principal(token: String) async -> Principal? { nil }
}

/// Knows the secret that a source's own customer holds.
package protocol SourceSecrets: Sendable {
    /// What is on record for a watch; nil when it is not watched, or its secret was neither given nor
    /// seen: then nobody can show it.
    func secret(of key: WatchKey) async throws(StoreError) -> ClientSecret?
}

/// The secrets given when the sources were enqueued, and those that polls have seen.
package struct WatchSecrets<Store: WatchStore>: SourceSecrets {
    private let watches: Store

    /// The secrets in a store of watches.
    package init(_ watches: Store) {
        self.watches = watches
    }

    package func secret(of key: WatchKey) async throws(StoreError) -> ClientSecret? {
        try await watches.snapshot(of: key)?.watch.clientSecret
    }
}

/// Where a request carries its key or token.
enum BearerToken {
    /// What a WebSocket client puts before its token among the subprotocols.
    ///
    /// Browsers cannot set headers. JWTs are made of the characters a subprotocol may have (RFC 6455 §4.1).
    static let subprotocolPrefix = "poller.token."

    /// The token of `Authorization: Bearer …`, or of a subprotocol; nil when there is none.
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

/// Counts connections by client, so that one client cannot take all places.
struct ConnectionSlots: Sendable {
    let limits: GatewayLimits
    private let places = SlotCounter()

    init(_ limits: GatewayLimits) {
        self.limits = limits
    }

    /// A place for one more connection of somebody; nil when they have too many.
    func place(of principal: Principal) -> SlotCounter.Slot? {
        let most =
            switch principal.credential {
            case .none, .key: limits.connectionsPerKeyMax > 0 ? limits.connectionsPerKeyMax : .max
            case .token: limits.connectionsPerTokenMax
            case .clientSecret: limits.connectionsPerSecretMax
            }
        return places.take("\(principal.credential.rawValue) \(principal.name)", most: most)
    }
}
