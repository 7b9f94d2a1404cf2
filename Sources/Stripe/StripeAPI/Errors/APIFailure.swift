/// An error response of the API: its status, its body, and what its headers say about retrying.
public struct APIFailure: Sendable, Hashable, CustomStringConvertible {
    /// The HTTP status.
    public let status: Int

    /// The decoded body; nil when a proxy answered something else than Stripe's error object.
    public let error: StripeErrorBody?

    /// Headers of interest.
    public let headers: StripeHeaders

    /// Describes an error response.
    public init(status: Int, error: StripeErrorBody?, headers: StripeHeaders) {
        self.status = status
        self.error = error
        self.headers = headers
    }

    /// One line for an operator, without the message, which may quote a customer's input.
    public var description: String {
        var line = "HTTP \(status)"
        if let type = error?.type { line += " \(type.rawValue)" }
        if let code = error?.code { line += " \(code)" }
        if let param = error?.param { line += " (param \(param))" }
        if let id = headers.requestID { line += " (request \(id))" }
        return line
    }
}
