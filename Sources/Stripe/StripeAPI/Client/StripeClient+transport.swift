package import NIOCore
package import NIOHTTP1

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What a caller with an HTTP client of its own needs of this library: how a request looks, and what
/// an answer means.
///
/// A cluster's polls are as many as all other calls together a thousand times over; they go over
/// connections of its own, and say and read what every other call does.
extension StripeClient {
    /// The headers of every GET; without `Host`.
    ///
    /// - Throws: ``StripeError/invalidRequest(_:)`` when nothing may be sent with this configuration.
    package func headersOfGet() throws(StripeError) -> HTTPHeaders {
        if let problem = configuration.head.problem { throw .invalidRequest(problem) }
        return configuration.head.headers
    }

    /// A query as it stands after the `?`.
    package static func query(_ fields: [(String, String)]) -> String {
        PercentEncoding.form(fields)
    }
}

extension StripeResponse {
    /// An answer that another client has read.
    package init(status: Int, headers: HTTPHeaders, body: ByteBuffer) {
        self.init(
            status: status,
            headers: StripeHeaders(headers),
            body: Data(body.readableBytesView)
        )
    }
}
