/// The error response to a request that failed (RFC 9457).
public struct ProblemReport: WireObject, Hashable {
    /// `urn:poller:problem:` followed by the code.
    public var type = ""
    /// A short sentence, the same for every occurrence.
    public var title = ""
    /// The HTTP status.
    public var status = 0
    /// The error and how to correct it.
    public var detail = ""
    /// A stable code for programs.
    public var code = ""
    /// The field with the error, if it is a single one.
    public var field: String?
    /// The first 20 errors of a batch.
    public var errors: [Item]?
    /// The number of invalid items in the batch.
    public var errorsTotal: Int?
    /// The request ID, by which an operator finds the request in the server's log.
    public var requestID = ""

    /// An error in one item of a batch.
    public struct Item: WireObject, Hashable {
        /// The index of the item in the batch, from 0.
        public var index = 0
        /// The code, as in ``ProblemReport/code``.
        public var code = ""
        /// The field, as in ``ProblemReport/field``.
        public var field: String?
        /// The detail, as in ``ProblemReport/detail``.
        public var detail = ""

        package init() {}

        package static let shape = Shape<Item> {
            Field("index", \.index)
            Field("code", \.code)
            Field("field", \.field)
            Field("detail", \.detail)
        }
    }

    package init() {}

    package static let shape = Shape<ProblemReport>("Problem") {
        Field("type", \.type, .keyword("format", "\"uri\""))
        Field("title", \.title)
        Field("status", \.status)
        Field("detail", \.detail)
        Field("code", \.code)
        Field("field", \.field)
        Field("errors", \.errors).note("The first 20 errors, with invalid_batch.")
        Field("errors_total", \.errorsTotal)
        Field("request_id", \.requestID)
    }
}
