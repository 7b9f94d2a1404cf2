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
        case .unknownField: "The body has an unknown field."
        case .missingField: "A required field is missing."
        case .wrongType: "A field has the wrong type."
        case .invalidValue: "A field has an invalid value."
        case .invalidBatch: "Some items are invalid. Nothing was enqueued."
        case .unknownParameter: "The query has an unknown parameter."
        case .invalidParameter: "A part of the URL has an invalid value."
        case .invalidHeader: "A header has an invalid value."
        case .unauthenticated: "An API key is required."
        case .notAllowed: "The key does not have the required permission."
        case .notLocal: "Without API keys, only local requests are accepted."
        case .invalidSignature: "The signature is missing or invalid."
        case .notFound: "The route does not exist."
        case .accountNotFound: "The account does not exist."
        case .keyNotFound: "The key does not exist."
        case .watchNotFound: "The source is not watched."
        case .orderNotFound: "The order is unknown."
        case .laneNotFound: "The lane does not exist."
        case .endpointNotFound: "The endpoint does not exist."
        case .methodNotAllowed: "The route does not support this method."
        case .bodyTooSlow: "The body did not arrive in time."
        case .watchClosed: "The watch is closed."
        case .orderMismatch: "The source is watched for another order."
        case .watchNotQuarantined: "The watch is not in quarantine."
        case .idempotencyKeyReused: "The Idempotency-Key was used for a different request."
        case .idempotencyKeyInUse: "The request with this Idempotency-Key is still in progress."
        case .preconditionFailed: "The object has changed in the meantime."
        case .tooManyEndpoints: "The limit of endpoints is reached."
        case .endpointNameTaken: "Another endpoint of the account has this name."
        case .tooManyKeys: "The limit of keys is reached."
        case .lastKey: "The last key that can create keys is required."
        case .endpointOfFile: "The endpoint is defined in the configuration file."
        case .endpointDisabled: "The endpoint is disabled."
        case .tooManySecrets: "The endpoint has the maximum number of active secrets."
        case .secretNotShown: "The secret is not shown again."
        case .channelMissing: "The server cannot deliver to this kind of URL."
        case .deliveryNotFound: "The delivery does not exist."
        case .deliveryBusy: "The delivery is being attempted."
        case .nothingToRetry: "The delivery has no dead letters."
        case .replayRunning: "A replay is in progress."
        case .replayNotFound: "The replay does not exist."
        case .entryNotFound: "The quarantine entry does not exist."
        case .bodyTooLarge: "The body is too large."
        case .unsupportedMediaType: "The route does not support this media type."
        case .nothingAsked: "The payment does not require this step."
        case .tooManyTries: "The last attempt was too recent."
        case .upstreamUnavailable: "The upstream did not respond."
        case .tooManyRequests: "Too many requests."
        case .tooManyWatches: "The account has reached its limit of open watches."
        case .tooManyWaiters: "Too many requests are waiting."
        case .storeUnavailable: "The store cannot be reached."
        case .masterKeyMissing: "This server lacks the master key of the store."
        case .storeFull: "The store is full and accepts no new work."
        case .storeCorrupt: "The store contains data that this version cannot read."
        case .internalError: "An internal error occurred."
        }
    }
}
