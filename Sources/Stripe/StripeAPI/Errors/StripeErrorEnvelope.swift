/// The outermost object of an error response.
struct StripeErrorEnvelope: Decodable {
    let error: StripeErrorBody
}
