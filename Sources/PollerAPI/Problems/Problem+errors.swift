import Hummingbird
import Logging
import NIOCore
import Poller

extension Problem {
    /// The problem that an error is for the client; what an operator must know is logged here.
    init(_ error: any Error, logger: Logger) {
        switch error {
        case let problem as Problem: self = problem
        case let invalid as InvalidInput: self.init(.invalidValue, invalid)
        case let store as StoreError: self.init(store, logger: logger)
        case is NIOTooManyBytesError:
            self.init(.bodyTooLarge, "The body is larger than this route allows.")
        default:
            logger.error("request failed", metadata: ["error": "\(error)"])
            self.init(
                .internalError,
                "Try again; if it stays, give the operator the request_id of this answer."
            )
        }
    }

    /// A value that breaks a rule of its type.
    init(_ code: ProblemCode, _ invalid: InvalidInput) {
        self.init(code, "\(invalid.field) \(invalid.message)", field: invalid.field)
    }

    private init(_ error: StoreError, logger: Logger) {
        switch error {
        case .unavailable(let reason):
            logger.warning("store unavailable", metadata: ["error": "\(reason)"])
            self.init(
                .storeUnavailable,
                "Send the request again after a moment: repeating it is safe.",
                retryAfterSeconds: 1
            )
        case .full:
            logger.warning("store full")
            self.init(
                .storeFull,
                "Send the request again later; watches accepted before go on being polled.",
                retryAfterSeconds: 10
            )
        case .unknownCursor:
            self.init(
                .invalidParameter,
                "cursor is none of this list: send the next of a page, or none to start again.",
                field: "cursor"
            )
        case .corrupt(let reason):
            logger.error("store corrupt", metadata: ["error": "\(reason)"])
            self.init(
                .storeCorrupt,
                "An operator must look: give them the request_id of this answer."
            )
        }
    }
}
