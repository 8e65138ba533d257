-- Which endpoints have failed for days, apart from those that have just begun to.
CREATE INDEX endpoint_failing ON endpoint_health (failing_since) WHERE failing_since IS NOT NULL;
