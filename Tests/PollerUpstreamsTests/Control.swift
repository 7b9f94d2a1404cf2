import AsyncHTTPClient
import NIOCore
import NIOHTTP1

/// The sandbox's control plane.
struct Control: Sendable {
    let base: String

    /// Posts JSON and returns the status.
    func post(_ path: String, json: String) async throws -> Int {
        var request = HTTPClientRequest(url: base + path)
        request.method = .POST
        request.headers.add(name: "Content-Type", value: "application/json")
        request.body = .bytes(ByteBuffer(string: json))
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(30))
        return Int(response.status.code)
    }
}
