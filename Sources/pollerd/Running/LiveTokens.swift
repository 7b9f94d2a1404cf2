import Poller
import PollerAPI
import PollerGateway

/// The API hands out the tokens that the gateway believes.
struct LiveTokens: StreamTokenIssuing {
    let tokens: any StreamTokenIssuer

    func issue(_ request: StreamTokenRequest) async throws -> IssuedStreamToken {
        let grant = try StreamGrant(
            account: request.account,
            sources: request.sources,
            types: request.types,
            view: request.isFull ? .full : .restricted
        )
        let token = try await tokens.issue(grant, lifetime: request.ttl)
        return IssuedStreamToken(reveal: token.reveal, expiresAt: token.expiresAt)
    }
}
