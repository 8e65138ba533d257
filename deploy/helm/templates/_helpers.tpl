{{- define "sealpost.name" -}}
{{- if contains "sealpost" .Release.Name }}{{ .Release.Name }}{{ else }}{{ .Release.Name }}-sealpost{{ end }}
{{- end }}

{{- define "sealpost.selector" -}}
app.kubernetes.io/name: sealpost
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "sealpost.labels" -}}
{{ include "sealpost.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end }}

{{- define "sealpost.command" -}}
{{- if eq .Values.mode "pair" -}}
[sealpost, standby{{ if .Values.upgrade }}, --upgrade{{ end }}]
{{- else if eq .Values.mode "replica" -}}
[litestream, replicate, -exec, sealpost]
{{- else -}}
[sealpost]
{{- end }}
{{- end }}

{{- define "sealpost.fromSecret" -}}
- name: {{ .name }}
  valueFrom:
    secretKeyRef:
      name: {{ .secret }}
      key: {{ .name }}
      {{- if .optional }}
      optional: true
      {{- end }}
{{- end }}
