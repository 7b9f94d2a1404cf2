import Hummingbird
import Poller

/// What operators ask: counts, what is wrong, and what routes there are.
struct OperatorRoutes {
    /// What a check may take before it counts as failed: a person waits for the answer.
    private static let checkTimeout = Duration.seconds(10)

    let backend: APIBackend
    let clock: any Clock<Duration>

    func add(to router: Router<APIContext>) {
        router.add(.stats, stats)
        router.add(.doctor, doctor)
        router.add(.openAPI, openAPI)
    }

    @Sendable
    private func stats(_ request: Request, _ context: APIContext) async throws -> Response {
        _ = try QueryParameters(request, allowed: [])
        var json = JSONObject()
        json.add("watches", raw: try await backend.watches.stats().json)
        json.add("deliveries", raw: try await backend.deliveries.stats().json)
        return Response(json: json.text)
    }

    /// Always 200: that the checks could be made is the success, what they saw is the answer.
    @Sendable
    private func doctor(_ request: Request, _ context: APIContext) async throws -> Response {
        _ = try QueryParameters(request, allowed: [])
        let results = await withTaskGroup(of: (Int, HealthResult).self) { group in
            for (index, check) in backend.checks.enumerated() {
                group.addTask { (index, await result(of: check)) }
            }
            var results: [Int: HealthResult] = [:]
            for await (index, result) in group { results[index] = result }
            return results
        }
        var checks: [String] = []
        var isHealthy = true
        for (index, check) in backend.checks.enumerated() {
            guard let result = results[index] else { continue }
            isHealthy = isHealthy && result.status != .failed
            var json = JSONObject()
            json.add("name", check.name)
            json.add("status", result.status.rawValue)
            json.add("message", result.message)
            json.add("action", orNull: result.action)
            checks.append(json.text)
        }
        var json = JSONObject()
        json.add("healthy", isHealthy)
        json.add("checks", raw: JSONObject.array(checks))
        return Response(json: json.text)
    }

    private func result(of check: any HealthCheck) async -> HealthResult {
        await withTaskGroup(of: HealthResult.self) { group in
            group.addTask { await check.run() }
            group.addTask { [clock] in
                // Cancelled means that the check was faster; then nobody reads this result.
                try? await clock.sleep(for: Self.checkTimeout)
                return HealthResult(
                    .failed,
                    "did not answer within \(Self.checkTimeout.text)",
                    action: "Check that what it looks at is reachable from the API's machine."
                )
            }
            defer { group.cancelAll() }
            return await group.next() ?? HealthResult(.failed, "was not made")
        }
    }

    @Sendable
    private func openAPI(_ request: Request, _ context: APIContext) async throws -> Response {
        let bytes = PackageResources.openapi_json
        return Response(
            status: .ok,
            headers: [.contentType: "application/json"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes))
        )
    }
}
