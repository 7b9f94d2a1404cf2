import HTTPTypes

/// Every way a request can fail, with a stable code that clients switch on.
///
/// Two errors have different codes if a client would react differently. The detail describes the error exactly, and its
/// text may change. A code always has the same status. A 400 means that the URL, a header or the form of the body is
/// wrong. A 422 means that the body was parsed, and a value violates a rule. A 409 means that the same request would
/// succeed in another state. A 503 comes with `Retry-After`, and a retry is safe and may succeed.
///
/// To add a code, add a case, its status and its title. The description lists them automatically.
enum ProblemCode: String, CaseIterable {
    case invalidJSON = "invalid_json"
    case unknownField = "unknown_field"
    case missingField = "missing_field"
    case wrongType = "wrong_type"
    case invalidValue = "invalid_value"
    case invalidBatch = "invalid_batch"
    case unknownParameter = "unknown_parameter"
    case invalidParameter = "invalid_parameter"
    case invalidHeader = "invalid_header"
    case unauthenticated
    case notAllowed = "not_allowed"
    case notLocal = "not_local"
    case invalidSignature = "invalid_signature"
    case notFound = "not_found"
    case accountNotFound = "account_not_found"
    case keyNotFound = "key_not_found"
    case watchNotFound = "watch_not_found"
    case orderNotFound = "order_not_found"
    case laneNotFound = "lane_not_found"
    case endpointNotFound = "endpoint_not_found"
    case methodNotAllowed = "method_not_allowed"
    case bodyTooSlow = "body_too_slow"
    case watchClosed = "watch_closed"
    case orderMismatch = "order_mismatch"
    case watchNotQuarantined = "watch_not_quarantined"
    case idempotencyKeyReused = "idempotency_key_reused"
    case idempotencyKeyInUse = "idempotency_key_in_use"
    case preconditionFailed = "precondition_failed"
    case tooManyEndpoints = "too_many_endpoints"
    case endpointNameTaken = "endpoint_name_taken"
    case tooManyKeys = "too_many_keys"
    case lastKey = "last_key"
    case endpointOfFile = "endpoint_of_file"
    case endpointDisabled = "endpoint_disabled"
    case tooManySecrets = "too_many_secrets"
    case secretNotShown = "secret_not_shown"
    case channelMissing = "channel_missing"
    case deliveryNotFound = "delivery_not_found"
    case deliveryBusy = "delivery_busy"
    case nothingToRetry = "nothing_to_retry"
    case replayRunning = "replay_running"
    case replayNotFound = "replay_not_found"
    case entryNotFound = "entry_not_found"
    case bodyTooLarge = "body_too_large"
    case unsupportedMediaType = "unsupported_media_type"
    case nothingAsked = "nothing_asked"
    case tooManyTries = "too_many_tries"
    case upstreamUnavailable = "upstream_unavailable"
    case tooManyWaiters = "too_many_waiters"
    case tooManyRequests = "too_many_requests"
    case tooManyWatches = "too_many_watches"
    case storeUnavailable = "store_unavailable"
    case masterKeyMissing = "master_key_missing"
    case storeFull = "store_full"
    case storeCorrupt = "store_corrupt"
    case internalError = "internal_error"

    /// The HTTP status of the code.
    var status: HTTPResponse.Status {
        switch self {
        case .invalidJSON, .unknownField, .missingField, .wrongType,
            .unknownParameter, .invalidParameter, .invalidHeader, .invalidSignature:
            .badRequest
        case .invalidValue, .invalidBatch: .unprocessableContent
        case .unauthenticated: .unauthorized
        case .notAllowed, .notLocal: .forbidden
        case .notFound, .accountNotFound, .keyNotFound, .watchNotFound, .orderNotFound,
            .laneNotFound, .endpointNotFound,
            .deliveryNotFound, .replayNotFound, .entryNotFound:
            .notFound
        case .methodNotAllowed: .methodNotAllowed
        case .bodyTooSlow: .requestTimeout
        case .watchClosed, .orderMismatch, .watchNotQuarantined, .idempotencyKeyReused,
            .idempotencyKeyInUse,
            .tooManyEndpoints, .endpointNameTaken, .tooManyKeys, .lastKey, .endpointOfFile,
            .endpointDisabled, .tooManySecrets,
            .secretNotShown, .channelMissing, .deliveryBusy, .nothingToRetry, .replayRunning,
            .nothingAsked:
            .conflict
        case .preconditionFailed: .preconditionFailed
        case .bodyTooLarge: .contentTooLarge
        case .unsupportedMediaType: .unsupportedMediaType
        case .tooManyTries, .tooManyRequests, .tooManyWatches: .tooManyRequests
        case .tooManyWaiters, .storeUnavailable, .masterKeyMissing, .storeFull,
            .upstreamUnavailable:
            .serviceUnavailable
        case .storeCorrupt, .internalError: .internalServerError
        }
    }

    /// A short sentence, the same for every occurrence.
    var title: String {
        switch self {
        case .invalidJSON: "The body is not valid JSON."
        case .unknownField: "The body has a field this API does not know."
        case .missingField: "A required field is missing."
        case .wrongType: "A field has the wrong type."
        case .invalidValue: "A field has a value that is not allowed."
        case .invalidBatch: "Some items are wrong; nothing was enqueued."
        case .unknownParameter: "The query has a parameter this route does not know."
        case .invalidParameter: "A part of the URL has a value that is not allowed."
        case .invalidHeader: "A header has a value that is not allowed."
        case .unauthenticated: "An API key is needed."
        case .notAllowed: "The key may not do this."
        case .notLocal: "Without API keys only local requests are served."
        case .invalidSignature: "The body is not signed as it should be."
        case .notFound: "There is no such route."
        case .accountNotFound: "There is no such account."
        case .keyNotFound: "There is no such key."
        case .watchNotFound: "Nobody watches this source."
        case .orderNotFound: "No watch has named this order."
        case .laneNotFound: "There is no such lane now."
        case .endpointNotFound: "There is no such endpoint."
        case .methodNotAllowed: "The route exists, but not for this method."
        case .bodyTooSlow: "The body did not arrive in time."
        case .watchClosed: "The watch is closed."
        case .orderMismatch: "The source is watched for another order."
        case .watchNotQuarantined: "The watch is not in quarantine."
        case .idempotencyKeyReused: "The Idempotency-Key was used for something else."
        case .idempotencyKeyInUse: "The request of this Idempotency-Key is being carried out."
        case .preconditionFailed: "Somebody else has changed it."
        case .tooManyEndpoints: "There are too many endpoints."
        case .endpointNameTaken: "Another endpoint of the account has this name."
        case .tooManyKeys: "There are too many keys."
        case .lastKey: "Without this key nobody could make keys."
        case .endpointOfFile: "The endpoint belongs to the configuration file."
        case .endpointDisabled: "The endpoint is disabled."
        case .tooManySecrets: "The endpoint has as many live secrets as it can have."
        case .secretNotShown: "The secret is not shown again."
        case .channelMissing: "Nothing here delivers to such a URL."
        case .deliveryNotFound: "There is no such delivery."
        case .deliveryBusy: "The delivery is being tried right now."
        case .nothingToRetry: "Nothing of the delivery was given up."
        case .replayRunning: "A replay is running."
        case .replayNotFound: "There is no such replay."
        case .entryNotFound: "There is no such entry in quarantine."
        case .bodyTooLarge: "The body is too large."
        case .unsupportedMediaType: "The body has a media type this route does not read."
        case .nothingAsked: "The payment asks for nothing of the kind."
        case .tooManyTries: "The last try was a moment ago."
        case .upstreamUnavailable: "The upstream gave no answer."
        case .tooManyRequests: "Too many requests."
        case .tooManyWatches: "The account has as many open watches as it may."
        case .tooManyWaiters: "Too many requests are waiting already."
        case .storeUnavailable: "The store cannot be reached."
        case .masterKeyMissing: "This server lacks the master key of the store."
        case .storeFull: "The store is full and takes no new work."
        case .storeCorrupt: "The store holds something this version does not understand."
        case .internalError: "Something went wrong inside the server."
        }
    }
}
