import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1

/// A response, as tests inspect it.
struct Answer {
    let status: Int
    let headers: HTTPHeaders
    let text: String

    /// The body as a JSON object; empty for any other body.
    var json: [String: Any] {
        (try? JSONSerialization.jsonObject(with: Data(text.utf8))) as? [String: Any] ?? [:]
    }

    var code: String? { json["code"] as? String }

    subscript(_ name: String) -> String? { json[name] as? String }

    func number(_ name: String) -> Int? { json[name] as? Int }

    /// Returns the objects of an array.
    func list(_ name: String) -> [[String: Any]] { json[name] as? [[String: Any]] ?? [] }
}

/// Returns the headers of a request with a key and a JSON body.
func bearer(_ key: String) -> [String: String] {
    ["Authorization": "Bearer \(key)", "Content-Type": "application/json"]
}

/// A server on a port of this machine.
protocol HTTPServer: Sendable {
    var port: Int { get }
}

/// A server with only a known port.
struct Loopback: HTTPServer {
    let port: Int
}

extension HTTPServer {
    var url: String { "http://127.0.0.1:\(port)" }

    /// Fetches a page without following redirects.
    func fetch(_ path: String, headers: [String: String] = [:]) async throws -> Answer {
        var configuration = HTTPClient.Configuration()
        configuration.redirectConfiguration = .disallow
        return try await HTTPClient.withHTTPClient(configuration: configuration) { http in
            var request = HTTPClientRequest(url: url + path)
            for (name, value) in headers { request.headers.add(name: name, value: value) }
            let response = try await http.execute(request, timeout: .seconds(60))
            let bytes = try await response.body.collect(upTo: 1_048_576)
            return Answer(
                status: Int(response.status.code),
                headers: response.headers,
                text: String(buffer: bytes)
            )
        }
    }

    /// Sends one request.
    func request(
        _ method: HTTPMethod,
        _ path: String,
        body: String? = nil,
        headers: [String: String] = [:]
    ) async throws -> Answer {
        var request = HTTPClientRequest(url: url + path)
        request.method = method
        for (name, value) in headers { request.headers.add(name: name, value: value) }
        if let body { request.body = .bytes(ByteBuffer(string: body)) }
        // A hundred concurrent requests, with all other tests of the target, take long on two cores.
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(60))
        let bytes = try await response.body.collect(upTo: 32 * 1_048_576)
        return Answer(
            status: Int(response.status.code),
            headers: response.headers,
            text: String(buffer: bytes)
        )
    }

    func get(_ path: String, headers: [String: String] = [:]) async throws -> Answer {
        try await request(.GET, path, headers: headers)
    }

    func post(
        _ path: String,
        _ body: String? = nil,
        type: String = "application/json"
    ) async throws
        -> Answer
    {
        try await request(.POST, path, body: body, headers: ["Content-Type": type])
    }

    /// Watches a source, or throws.
    func enqueue(_ source: String) async throws {
        let answer = try await post("/v1/watches", #"{"source":"\#(source)"}"#)
        guard answer.status == 201 || answer.status == 200 else {
            throw UnexpectedAnswer(text: answer.text)
        }
    }
}

/// A response that fails a test.
struct UnexpectedAnswer: Error {
    let text: String
}
